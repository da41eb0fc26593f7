set encoding utf8
set terminal svg size 760,480 noenhanced background '#ffffff' font 'Helvetica,12'
set multiplot layout 1,1 title "demo: small" font ',15'
set key above left horizontal Left reverse samplen 2
set border 3 linecolor rgb '#444444'
set tics nomirror
set format '%g'
set style fill solid noborder
set clip two
set grid xtics mxtics ytics mytics lt 1 lc rgb '#dddddd', lt 1 lc rgb '#eeeeee'
set size ratio 0.4492
set xrange [0:84.8]
set yrange [0.1:10]
set logscale y
set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10)
set ylabel "best so far (ms)"
set xlabel "trials\012\012The best so far; geometric mean over seeds, a band from the fastest to the slowest of them. Measured on an\012Abacus, 2026-01-02T03:04:05Z.\012"
$values0 << end
2 8 8 8
4 8 8 8
6 8 8 8
8 8 8 8
10 8 8 8
12 8 8 8
14 8 8 8
16 8 8 8
18 8 8 8
20 1.10064242 0.66666667 2
22 1.10064242 0.66666667 2
24 1.10064242 0.66666667 2
26 1.10064242 0.66666667 2
28 1.10064242 0.66666667 2
30 1.10064242 0.66666667 2
32 1.10064242 0.66666667 2
34 1.10064242 0.66666667 2
36 1.10064242 0.66666667 2
38 1.10064242 0.66666667 2
40 1.10064242 0.66666667 2
42 1.10064242 0.66666667 2
44 1.10064242 0.66666667 2
46 1.10064242 0.66666667 2
48 1.10064242 0.66666667 2
50 1.10064242 0.66666667 2
52 1.10064242 0.66666667 2
54 1.10064242 0.66666667 2
56 1.10064242 0.66666667 2
58 1.10064242 0.66666667 2
60 1.10064242 0.66666667 2
62 1.10064242 0.66666667 2
64 1.10064242 0.66666667 2
66 1.10064242 0.66666667 2
68 1.10064242 0.66666667 2
70 1.10064242 0.66666667 2
72 1.10064242 0.66666667 2
74 1.10064242 0.66666667 2
76 1.10064242 0.66666667 2
78 1.10064242 0.66666667 2
80 0.550321206 0.33333333 1
end
$values1 << end
2 8
4 8
6 8
8 8
10 8
12 8
14 8
16 8
18 8
20 0.4
22 0.4
24 0.4
26 0.4
28 0.4
30 0.4
32 0.4
34 0.4
36 0.4
38 0.4
40 0.4
42 0.4
44 0.4
46 0.4
48 0.4
50 0.4
52 0.4
54 0.4
56 0.4
58 0.4
60 0.4
62 0.4
64 0.4
66 0.4
68 0.4
70 0.4
72 0.4
74 0.4
76 0.4
78 0.4
80 0.2
end
plot $values0 using 1:3:4 with filledcurves fs transparent solid 0.15 lc rgb '#d55e00' notitle, \
    $values0 with lines lw 2 dt 1 lc rgb '#d55e00' title "jointly", \
    $values1 with lines lw 2 dt 1 lc rgb '#009e73' title "loops"
