set encoding utf8
set terminal svg size 760,480 noenhanced background '#ffffff' font 'Helvetica,12'
set multiplot layout 1,1 title "c2d n=1 <roofline>" font ',15'
set key above left horizontal Left reverse samplen 2
set border 3 linecolor rgb '#444444'
set tics nomirror
set format '%g'
set style fill solid noborder
set clip two
set grid xtics mxtics ytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'
set size ratio 0.4510
set xrange [0.1:100]
set logscale x
set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
set yrange [1:2000]
set logscale y
set ylabel "speed (GFLOP/s)"
set xlabel "arithmetic intensity (FLOP/byte)\012\012One core & \042all\042 of it.  Bandwidths are the best of many short samples; what a longer caption says is broken\012at blanks, as here.\012"
set label "L2 100 GB/s" at graph 0.0193,0.3205 left rotate by 22.3 offset 0,0.7 font ',11' textcolor rgb '#0072b2'
set label "DRAM 15 GB/s" at graph 0.0193,0.0709 left rotate by 22.3 offset 0,0.7 font ',11' textcolor rgb '#d55e00'
set label "avx512 200 GFLOP/s" at graph 0.9910,0.6971 right rotate by 0.0 offset 0,0.7 font ',11' textcolor rgb '#777777'
set label "0" at graph 0.3471,0.3269 center offset 0,1
set label "1" at graph 0.3536,0.3323 center offset 0,-1
set label "2" at graph 0.3597,0.3269 left offset 1,0
set label "3" at graph 0.6514,0.5765 left offset 1,0
set label "4 reorder" at graph 0.8674,0.6903 center offset 0,-1
$values0 << end
0.1 10
4 400
100 400
end
$values1 << end
0.1 1.5
4 60
100 1500
end
$values2 << end
0.1 200
100 200
end
$values3 << end
1.1 12
1.15 12.5
1.2 12
9 80
end
$values4 << end
40 190
end
plot $values0 with lines lw 2 dt 1 lc rgb '#0072b2' notitle, \
    $values1 with lines lw 2 dt 2 lc rgb '#d55e00' notitle, \
    $values2 with lines lw 3 dt 1 lc rgb '#777777' notitle, \
    $values3 with points pt 13 ps 0.7 lc rgb '#b5508f' title "steps", \
    $values4 with points pt 7 ps 1 lc rgb '#b07d00' title "now"
