set encoding utf8
set terminal svg size 760,480 noenhanced background '#ffffff' font 'Helvetica,12'
set multiplot layout 1,1 title "gmm m=256 k=256 n=256" font ',15'
set key above left horizontal Left reverse samplen 2
set border 3 linecolor rgb '#444444'
set tics nomirror
set format '%g'
set style fill solid noborder
set clip two
set grid xtics mxtics ytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'
set size ratio 0.4439
set xrange [0.186413511:50]
set logscale x
set xtics (0.2, 0.5, 1, 2, 5, 10, 20, 50)
set yrange [0.7:320]
set logscale y
set ytics (1, 2, 5, 10, 20, 50, 100, 200)
set ylabel "speed (GFLOP/s)"
set xlabel "arithmetic intensity (FLOP/byte)\012\012Numbers are steps of the session. Bytes are what the simulated L1 exchanges with the next level. Roofs: best\012samples of 1 thread on a CPU, 2026-11-21T02:00:00Z.\012"
set label "L1 400 GB/s" at graph 0.0194,0.7799 left rotate by 22.1 offset 0,0.7 font ',11' textcolor rgb '#0072b2'
set label "L2 100 GB/s" at graph 0.0194,0.5535 left rotate by 22.1 offset 0,0.7 font ',11' textcolor rgb '#d55e00'
set label "L3 40 GB/s" at graph 0.0194,0.4039 left rotate by 22.1 offset 0,0.7 font ',11' textcolor rgb '#009e73'
set label "DRAM 10 GB/s" at graph 0.0194,0.1776 left rotate by 22.1 offset 0,0.7 font ',11' textcolor rgb '#b5508f'
set label "avx512 200 GFLOP/s" at graph 0.9910,0.9233 right rotate by 0.0 offset 0,0.7 font ',11' textcolor rgb '#777777'
set label "plain 12 GFLOP/s" at graph 0.9910,0.4639 right rotate by 0.0 offset 0,0.7 font ',11' textcolor rgb '#777777'
set label "0" at graph 0.1639,0.1132 left offset 1,0
set label "1" at graph 0.3603,0.2078 left offset 1,0
set label "3" at graph 0.5242,0.6903 left offset 1,0
set label "4" at graph 0.7207,0.8967 left offset 1,0
$values0 << end
0.186413511 74.5654044
0.5 200
end
$values1 << end
0.186413511 18.6413511
2 200
end
$values2 << end
0.186413511 7.45654044
5 200
end
$values3 << end
0.186413511 1.86413511
20 200
end
$values4 << end
0.5 200
50 200
end
$values5 << end
0.03 12
50 12
end
$values6 << end
0.466033778 1.4
1.39810133 2.5
3.49525333 48
end
$values7 << end
10.48576 170
end
plot $values0 with lines lw 2 dt 1 lc rgb '#0072b2' notitle, \
    $values1 with lines lw 2 dt 1 lc rgb '#d55e00' notitle, \
    $values2 with lines lw 2 dt 1 lc rgb '#009e73' notitle, \
    $values3 with lines lw 2 dt 2 lc rgb '#b5508f' notitle, \
    $values4 with lines lw 3 dt 1 lc rgb '#777777' notitle, \
    $values5 with lines lw 3 dt 3 lc rgb '#777777' notitle, \
    $values6 with points pt 5 ps 0.7 lc rgb '#2f8fc6' title "steps before", \
    $values7 with points pt 5 ps 1 lc rgb '#d55e00' title "current step"
