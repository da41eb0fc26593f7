set encoding utf8
set terminal svg size 360,240 noenhanced background '#ffffff' font 'Helvetica,12'
set key above left horizontal Left reverse samplen 2
set border 3 linecolor rgb '#444444'
set tics nomirror
set format '%g'
set style fill solid noborder
set clip two
set grid ytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'
set boxwidth 0.376
set xrange [-0.5:1.5]
set yrange [20:5000]
set logscale y
set ytics (20, 50, 100, 200, 500, 1000, 2000, 5000)
set xtics ("512x4" 0, "512x16" 1) scale 0
set ylabel "L1 misses"
set label "0" at graph 0.3500,0.0000 center offset 0,0.6 font ',10'
$values0 << end
-0.2 32
0.8 2048
end
$values1 << end

1.2 2352
end
plot $values0 with boxes lc rgb '#0072b2' title "tiled", \
    $values1 with boxes lc rgb '#d55e00' title "row by row"
