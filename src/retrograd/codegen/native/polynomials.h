/* Written by tools/fit_math.py: near-minimax polynomials of the vector math functions. */
/* error 6.6e-8 on [-0.3475, 0.3475] */
static inline float exp_poly_f(float x) {
  float y = 0.0013926376f;
  y = FMAF(y, x, 0.008363333082f);
  y = FMAF(y, x, 0.04166655346f);
  y = FMAF(y, x, 0.1666657606f);
  y = FMAF(y, x, 0.5f);
  return y;
}
/* error 1.4e-18 on [-0.3475, 0.3475] */
static inline double exp_poly_d(double x) {
  double y = 2.09148825634850695e-9;
  y = FMAD(y, x, 2.510549090698669546e-8);
  y = FMAD(y, x, 2.755727317194102772e-7);
  y = FMAD(y, x, 2.75572547404054151e-6);
  y = FMAD(y, x, 0.00002480158732592016174);
  y = FMAD(y, x, 0.0001984126987534214216);
  y = FMAD(y, x, 0.00138888888888836415);
  y = FMAD(y, x, 0.00833333333332598557);
  y = FMAD(y, x, 0.04166666666666666984);
  y = FMAD(y, x, 0.166666666666666711);
  y = FMAD(y, x, 0.5);
  return y;
}
/* error 2.9e-8 on [-0.2930, 0.4143] */
static inline float log_poly_f(float x) {
  float y = 0.06973070409f;
  y = FMAF(y, x, -0.1148147724f);
  y = FMAF(y, x, 0.1168571964f);
  y = FMAF(y, x, -0.1242548656f);
  y = FMAF(y, x, 0.1424900932f);
  y = FMAF(y, x, -0.1666780858f);
  y = FMAF(y, x, 0.200007172f);
  y = FMAF(y, x, -0.2499999691f);
  y = FMAF(y, x, 0.3333333117f);
  return y;
}
/* error 1.2e-9 on [0, 0.0296] */
static inline float logs_poly_f(float x) {
  float y = 0.2333681101f;
  y = FMAF(y, x, 0.2855058704f);
  y = FMAF(y, x, 0.4000012391f);
  y = FMAF(y, x, 0.6666666655f);
  return y;
}
/* error 2.2e-18 on [0, 0.0296] */
static inline double logs_poly_d(double x) {
  double y = 0.1309441666652534402;
  y = FMAD(y, x, 0.132680261404287393);
  y = FMAD(y, x, 0.1538626767288222503);
  y = FMAD(y, x, 0.1818179512447675351);
  y = FMAD(y, x, 0.2222222239655298081);
  y = FMAD(y, x, 0.2857142857078220772);
  y = FMAD(y, x, 0.4000000000000091204);
  y = FMAD(y, x, 0.6666666666666666646);
  return y;
}
/* error 2.8e-11 on [0, 0.6171] */
static inline float sin_poly_f(float x) {
  float y = 2.724980203e-6f;
  y = FMAF(y, x, -0.0001984008578f);
  y = FMAF(y, x, 0.008333331873f);
  y = FMAF(y, x, -0.1666666666f);
  return y;
}
/* error 2.0e-17 on [0, 0.6171] */
static inline double sin_poly_d(double x) {
  double y = 1.591807248957509873e-10;
  y = FMAD(y, x, -2.505113105638621446e-8);
  y = FMAD(y, x, 2.755731609876780692e-6);
  y = FMAD(y, x, -0.0001984126983675127663);
  y = FMAD(y, x, 0.008333333333330943661);
  y = FMAD(y, x, -0.1666666666666666462);
  return y;
}
/* error 2.0e-9 on [0, 0.6171] */
static inline float cos_poly_f(float x) {
  float y = 2.454783994e-5f;
  y = FMAF(y, x, -0.001388830256f);
  y = FMAF(y, x, 0.04166666466f);
  return y;
}
/* error 1.3e-18 on [0, 0.6171] */
static inline double cos_poly_d(double x) {
  double y = -1.138259688862111043e-11;
  y = FMAD(y, x, 2.087614577505440701e-9);
  y = FMAD(y, x, -2.755731726936219636e-7);
  y = FMAD(y, x, 0.00002480158729876112268);
  y = FMAD(y, x, -0.001388888888888739422);
  y = FMAD(y, x, 0.04166666666666666539);
  return y;
}
/* error 1.6e-8 on [0, 0.1717] */
static inline float atan_poly_f(float x) {
  float y = -0.06450377352f;
  y = FMAF(y, x, 0.1074326338f);
  y = FMAF(y, x, -0.1426391227f);
  y = FMAF(y, x, 0.1999953923f);
  y = FMAF(y, x, -0.3333333176f);
  return y;
}
/* error 4.3e-20 on [0, 0.1717] */
static inline double atan_poly_d(double x) {
  double y = -0.01390870344728822462;
  y = FMAD(y, x, 0.03062628782847589546);
  y = FMAD(y, x, -0.04104029750501820895);
  y = FMAD(y, x, 0.04719294405473836457);
  y = FMAD(y, x, -0.05258025792007342363);
  y = FMAD(y, x, 0.05881923626133300658);
  y = FMAD(y, x, -0.06666641908302051405);
  y = FMAD(y, x, 0.07692306730961796054);
  y = FMAD(y, x, -0.09090909066866445509);
  y = FMAD(y, x, 0.1111111111075232507);
  y = FMAD(y, x, -0.1428571428571149788);
  y = FMAD(y, x, 0.1999999999999999147);
  y = FMAD(y, x, -0.3333333333333333333);
  return y;
}
/* error 4.2e-9 on [0, 0.2501] */
static inline float asin_poly_f(float x) {
  float y = 0.03370072632f;
  y = FMAF(y, x, 0.01714371682f);
  y = FMAF(y, x, 0.03110172783f);
  y = FMAF(y, x, 0.04459931916f);
  y = FMAF(y, x, 0.07500094761f);
  y = FMAF(y, x, 0.1666666634f);
  return y;
}
/* error 6.4e-20 on [0, 0.2501] */
static inline double asin_poly_d(double x) {
  double y = 0.03074452692432219623;
  y = FMAD(y, x, -0.02406391437794960764);
  y = FMAD(y, x, 0.02258611240157349998);
  y = FMAD(y, x, 0.0003664940923274731019);
  y = FMAD(y, x, 0.008799140451914982905);
  y = FMAD(y, x, 0.008135014193193647749);
  y = FMAD(y, x, 0.009792863988301034611);
  y = FMAD(y, x, 0.01154907567943949059);
  y = FMAD(y, x, 0.01396501066933184691);
  y = FMAD(y, x, 0.01735275744417982306);
  y = FMAD(y, x, 0.02237215928067093027);
  y = FMAD(y, x, 0.03038194444134638729);
  y = FMAD(y, x, 0.04464285714288356297);
  y = FMAD(y, x, 0.07499999999999991128);
  y = FMAD(y, x, 0.1666666666666666667);
  return y;
}
/* error 1.2e-9 on [0, 1.0001] */
static inline float erf_poly_f(float x) {
  float y = 7.875545765e-5f;
  y = FMAF(y, x, -0.00080167735f);
  y = FMAF(y, x, 0.00518907811f);
  y = FMAF(y, x, -0.02685420765f);
  y = FMAF(y, x, 0.1128359462f);
  y = FMAF(y, x, -0.3761262666f);
  y = FMAF(y, x, 0.1283791658f);
  return y;
}
/* error 1.3e-19 on [0, 1.0001] */
static inline double erf_poly_d(double x) {
  double y = 5.956905633653030545e-11;
  y = FMAD(y, x, -1.137269319112632365e-9);
  y = FMAD(y, x, 1.465973615567395968e-8);
  y = FMAD(y, x, -1.635030706523462622e-7);
  y = FMAD(y, x, 1.646099997034542718e-6);
  y = FMAD(y, x, -0.00001492559523597065159);
  y = FMAD(y, x, 0.0001205533111040949376);
  y = FMAD(y, x, -0.0008548326980801447448);
  y = FMAD(y, x, 0.005223977624817478574);
  y = FMAD(y, x, -0.02686617064507674106);
  y = FMAD(y, x, 0.112837916709548784);
  y = FMAD(y, x, -0.3761263890318374805);
  y = FMAD(y, x, 0.1283791670955125738);
  return y;
}
/* error 3.4e-10 on [-0.601, 0.81] */
static inline float erfc_poly_f(float x) {
  float y = 0.0001041249063f;
  y = FMAF(y, x, -0.0002516512859f);
  y = FMAF(y, x, -0.0005539535075f);
  y = FMAF(y, x, 0.003026384941f);
  y = FMAF(y, x, -0.001209730621f);
  y = FMAF(y, x, -0.02682627407f);
  y = FMAF(y, x, 0.1195273544f);
  y = FMAF(y, x, -0.3104673025f);
  y = FMAF(y, x, 0.5902283774f);
  y = FMAF(y, x, -0.883394453f);
  y = FMAF(y, x, 1.074006907f);
  return y;
}
/* error 8.6e-19 on [-0.601, 0.81] */
static inline double erfc_poly_d(double x) {
  double y = -4.889045346274854039e-9;
  y = FMAD(y, x, -5.862412029268748837e-9);
  y = FMAD(y, x, 4.744767067875678412e-8);
  y = FMAD(y, x, 5.323419611744855536e-8);
  y = FMAD(y, x, -2.333613052866893827e-7);
  y = FMAD(y, x, -4.129879043543946374e-7);
  y = FMAD(y, x, 1.000133810213007378e-6);
  y = FMAD(y, x, 2.767360306257666753e-6);
  y = FMAD(y, x, -4.750058025311474006e-6);
  y = FMAD(y, x, -0.00001747102431938034496);
  y = FMAD(y, x, 0.00003039842856236603007);
  y = FMAD(y, x, 0.0001075615502992599331);
  y = FMAD(y, x, -0.0002767778939789932976);
  y = FMAD(y, x, -0.000548309696932487734);
  y = FMAD(y, x, 0.003034062006065392584);
  y = FMAD(y, x, -0.001212416626970574129);
  y = FMAD(y, x, -0.02682723462474179161);
  y = FMAD(y, x, 0.1195277612872843448);
  y = FMAD(y, x, -0.3104672619005611894);
  y = FMAD(y, x, 0.5902283571041019036);
  y = FMAD(y, x, -0.8833944531698836701);
  y = FMAD(y, x, 1.074006907088339702);
  return y;
}
/* error 6.7e-9 on [-3.125, 3.125] */
static inline float erfinvc_poly_f(float x) {
  float y = 2.357528333e-12f;
  y = FMAF(y, x, 6.676776081e-10f);
  y = FMAF(y, x, -4.662827472e-9f);
  y = FMAF(y, x, -2.49025601e-8f);
  y = FMAF(y, x, 4.261012552e-7f);
  y = FMAF(y, x, -1.386396879e-6f);
  y = FMAF(y, x, -1.388833295e-5f);
  y = FMAF(y, x, 0.0001867818532f);
  y = FMAF(y, x, -0.0007406977486f);
  y = FMAF(y, x, -0.006033710642f);
  y = FMAF(y, x, 0.2401581818f);
  y = FMAF(y, x, 1.653654568f);
  return y;
}
/* error 3.5e-17 on [-3.125, 3.125] */
static inline double erfinvc_poly_d(double x) {
  double y = 3.240704459379901911e-21;
  y = FMAD(y, x, -1.113483769832701936e-21);
  y = FMAD(y, x, -3.499604435475417782e-19);
  y = FMAD(y, x, 1.150022252066252973e-18);
  y = FMAD(y, x, 1.557432024623325217e-17);
  y = FMAD(y, x, -1.301692801679644488e-16);
  y = FMAD(y, x, -4.028215432766174224e-17);
  y = FMAD(y, x, 6.596407712420834111e-15);
  y = FMAD(y, x, -4.001237735091895856e-14);
  y = FMAD(y, x, -8.118399443074353194e-14);
  y = FMAD(y, x, 2.630483474056044148e-12);
  y = FMAD(y, x, -1.297688552653207564e-11);
  y = FMAD(y, x, -5.41428719808471606e-11);
  y = FMAD(y, x, 1.051218153980412669e-9);
  y = FMAD(y, x, -4.112660820023240076e-9);
  y = FMAD(y, x, -2.907038226292726639e-8);
  y = FMAD(y, x, 4.234788173782339258e-7);
  y = FMAD(y, x, -1.365469185060357508e-6);
  y = FMAD(y, x, -0.0000138825233944053167);
  y = FMAD(y, x, 0.0001867342080246483772);
  y = FMAD(y, x, -0.0007407025341544769871);
  y = FMAD(y, x, -0.006033670871427849884);
  y = FMAD(y, x, 0.2401581824255883243);
  y = FMAD(y, x, 1.653654562683102746);
  return y;
}
/* error 1.2e-8 on [-1.8, 1.8] */
static inline float erfinvt_poly_f(float x) {
  float y = 8.750141514e-8f;
  y = FMAF(y, x, -2.06118799e-7f);
  y = FMAF(y, x, -7.115386054e-7f);
  y = FMAF(y, x, 2.581467669e-6f);
  y = FMAF(y, x, -2.091188203e-6f);
  y = FMAF(y, x, 1.618868391e-6f);
  y = FMAF(y, x, -8.562129984e-6f);
  y = FMAF(y, x, 2.198303007e-5f);
  y = FMAF(y, x, -5.812260704e-5f);
  y = FMAF(y, x, 0.0001951606997f);
  y = FMAF(y, x, -0.0005670541817f);
  y = FMAF(y, x, 0.0006250091898f);
  y = FMAF(y, x, 1.010045098f);
  y = FMAF(y, x, 4.142724034f);
  return y;
}
/* error 4.7e-17 on [-1.8, 1.8] */
static inline double erfinvt_poly_d(double x) {
  double y = 4.99410986746359335e-16;
  y = FMAD(y, x, -2.357658268183297983e-16);
  y = FMAD(y, x, -1.616686900124058408e-14);
  y = FMAD(y, x, 3.398301218623777365e-14);
  y = FMAD(y, x, 1.106360767083748626e-13);
  y = FMAD(y, x, -4.116597450176891681e-13);
  y = FMAD(y, x, 5.724291461324846903e-13);
  y = FMAD(y, x, -1.981131782446705529e-12);
  y = FMAD(y, x, 1.825657966064786942e-12);
  y = FMAD(y, x, 3.300307823697042924e-11);
  y = FMAD(y, x, -1.604792396824434888e-10);
  y = FMAD(y, x, 3.050889425998351304e-10);
  y = FMAD(y, x, 1.679958604691089458e-10);
  y = FMAD(y, x, -3.079306806160644526e-9);
  y = FMAD(y, x, 1.093942256825176536e-8);
  y = FMAD(y, x, -2.098437510875528664e-8);
  y = FMAD(y, x, 7.845657381253890236e-9);
  y = FMAD(y, x, 1.038034678963474614e-7);
  y = FMAD(y, x, -4.555674014088093158e-7);
  y = FMAD(y, x, 1.222917966361396434e-6);
  y = FMAD(y, x, -2.534220916649278132e-6);
  y = FMAD(y, x, 4.51957398973521013e-6);
  y = FMAD(y, x, -8.142447061328413963e-6);
  y = FMAD(y, x, 0.00001878562058713403425);
  y = FMAD(y, x, -0.00005832285370205509645);
  y = FMAD(y, x, 0.0001968538345714662826);
  y = FMAD(y, x, -0.0005670163614577724371);
  y = FMAD(y, x, 0.000624669990720217445);
  y = FMAD(y, x, 1.010045097068687704);
  y = FMAD(y, x, 4.142724044720679379);
  return y;
}
/* error 0 on [0, 4] */
static inline float erfl_poly_f(float x) {
  float y = 9.25673763e-6f;
  y = FMAF(y, x, -0.0001176452651f);
  y = FMAF(y, x, 0.0006328502579f);
  y = FMAF(y, x, -0.001667050339f);
  y = FMAF(y, x, 0.0001604171939f);
  y = FMAF(y, x, 0.01915305355f);
  y = FMAF(y, x, -0.1027778281f);
  y = FMAF(y, x, -0.6366193822f);
  y = FMAF(y, x, -1.128379172f);
  return y;
}
