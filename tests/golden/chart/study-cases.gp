set encoding utf8
set terminal svg size 760,480 noenhanced background '#ffffff' font 'Helvetica,12'
set multiplot layout 1,1 title "demo: latency" font ',15'
set key above left horizontal Left reverse samplen 2
set border 3 linecolor rgb '#444444'
set tics nomirror
set format '%g'
set style fill solid noborder
set clip two
set grid ytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'
set boxwidth 0.376
set xrange [-0.5:1.5]
set yrange [0.05:2]
set logscale y
set ytics (0.05, 0.1, 0.2, 0.5, 1, 2)
set xtics ("8 rows" 0, "16 rows" 1) scale 0
set ylabel "ratio to plain"
set xlabel "A Paper, Table 9. Measured on an Abacus, 2026-01-02T03:04:05Z.\012"
$values0 << end
-0.2 0.0625
0.8 0.0625
end
$values1 << end
0 0.5
1 1.25
end
$values2 << end
0.2 0.0625
1.2 0.0625
end
$values3 << end
0 0.125
1 0.125
end
plot $values0 with boxes lc rgb '#d55e00' title "lanes of 4", \
    $values2 with boxes lc rgb '#009e73' title "best", \
    $values1 with points pt 5 ps 0.7 lc rgb '#d55e00' title "lanes of 4: the paper", \
    $values3 with points pt 9 ps 0.7 lc rgb '#009e73' title "best: the paper"
