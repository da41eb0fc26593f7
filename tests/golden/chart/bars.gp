set encoding utf8
set terminal svg size 600,420 noenhanced background '#ffffff' font 'Helvetica,12'
set multiplot layout 1,1 title "Layouts alone" font ',15'
set key above left horizontal Left reverse samplen 2
set border 3 linecolor rgb '#444444'
set tics nomirror
set format '%g'
set style fill solid noborder
set clip two
set grid ytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'
set boxwidth 0.376
set xrange [-0.5:4.5]
set yrange [0:2.12]
set xtics ("N H W O" 0, "N O H W" 1, "N O/16 H W 16o" 2, "N H/4 W/16 O/16 4h 16w 16o" 3, "a very long name" 4) scale 0 rotate by 35 right
set ylabel "latency (ratio)"
set xlabel "layout"
set label "1.00" at graph 0.0600,0.5660 center offset 0,0.6 font ',10'
set label "1.84" at graph 0.2600,0.9434 center offset 0,0.6 font ',10'
set label "0.99" at graph 0.4600,0.4717 center offset 0,0.6 font ',10'
set label "1.12" at graph 0.6600,0.6132 center offset 0,0.6 font ',10'
set label "n/a" at graph 0.5400,0.0000 center offset 0,0.6 font ',10'
$values0 << end
-0.2 1 0.95 1.2
0.8 1.84 1.7 2
1.8 0.99 0.98 1
2.8 1.12 1.1 1.3
3.8 0.2 0.2 0.2
end
$values1 << end
0.2 1
1.2 1.44

3.2 0.74
4.2 0.5
end
$values2 << end
0 1
1 1
2 1
3 1
4 1
end
plot $values0 with boxes lc rgb '#0072b2' title "measured here", \
    $values0 using 1:3:(0):($4-$3) with vectors heads size screen 0.004,90 lc rgb '#444444' notitle, \
    $values1 with boxes lc rgb '#d55e00' title "in the paper", \
    $values2 with lines lw 2 dt 3 lc rgb '#777777' title "N H W O"
