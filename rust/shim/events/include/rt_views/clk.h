/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's struct clk_core to the view of clk.c; see rt_view.h. */

RT_PLACE(clk_core, name);

#define RT_CLK_VIEW(core) { .name = RT_READ(core, clk_core, name, char *) }

/* A class whose events get a clock and perhaps numbers. */
#define RT_CLK(class, params, ...)					\
static notrace void							\
rt_view_##class(void *cookie, struct clk_core *core RT_CLK_##params)	\
{									\
	struct clk_core view = RT_CLK_VIEW(core);			\
									\
	rt_probe_##class(cookie, &view, ##__VA_ARGS__);			\
}									\
RT_NEEDS(rt_view_##class, clk_core, name, 8, PTR)

#define RT_CLK_ALONE
#define RT_CLK_RATE	, unsigned long rate
#define RT_CLK_RANGE	, unsigned long min, unsigned long max
#define RT_CLK_PHASE	, int phase
#define RT_CLK_DUTY	, struct clk_duty *duty

RT_CLK(clk, ALONE);
RT_CLK(clk_rate, RATE, rate);
RT_CLK(clk_rate_range, RANGE, min, max);
RT_CLK(clk_phase, PHASE, phase);
RT_CLK(clk_duty_cycle, DUTY, duty);

static notrace void
rt_view_clk_parent(void *cookie, struct clk_core *core, struct clk_core *parent)
{
	struct clk_core view = RT_CLK_VIEW(core);
	struct clk_core parent_view;

	if (!parent) {
		rt_probe_clk_parent(cookie, &view, NULL);
		return;
	}
	parent_view = (struct clk_core)RT_CLK_VIEW(parent);
	rt_probe_clk_parent(cookie, &view, &parent_view);
}
RT_NEEDS(rt_view_clk_parent, clk_core, name, 8, PTR);

static notrace void
rt_view_clk_rate_request(void *cookie, struct clk_rate_request *request)
{
	struct clk_rate_request view = *request;
	struct clk_core core;

	if (view.core) {
		core = (struct clk_core)RT_CLK_VIEW(view.core);
		view.core = &core;
	}
	rt_probe_clk_rate_request(cookie, &view);
}
RT_NEEDS(rt_view_clk_rate_request, clk_core, name, 8, PTR);

#define rt_probe_clk rt_view_clk
#define rt_probe_clk_rate rt_view_clk_rate
#define rt_probe_clk_rate_range rt_view_clk_rate_range
#define rt_probe_clk_phase rt_view_clk_phase
#define rt_probe_clk_duty_cycle rt_view_clk_duty_cycle
#define rt_probe_clk_parent rt_view_clk_parent
#define rt_probe_clk_rate_request rt_view_clk_rate_request
