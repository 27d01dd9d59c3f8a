import { collectDefaultMetrics, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { listMetrics, type Metric } from '../support/metric-names.ts';
import { dashboardQueries, namesIn, readDashboard, readRules } from './queries.ts';

// The files in deploy/ against the metrics that exist. `prometheus.test.ts` runs them in a real Prometheus.

const dashboard = readDashboard();
const queries = dashboardQueries(dashboard);
const alerts = readRules().map(({ alert, expr }): [string, string] => [alert, expr]);

function ofNode(): Metric[] {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register.getMetricsAsArray() as unknown as Metric[];
}

/** Time series by name, with their labels. */
const series = new Map(
  [...listMetrics(), ...ofNode()].flatMap(({ name, type, labelNames }): [string, string[]][] =>
    type === 'histogram'
      ? [
          [`${name}_count`, labelNames],
          [`${name}_sum`, labelNames],
          [`${name}_bucket`, [...labelNames, 'le']],
        ]
      : [[name, labelNames]],
  ),
);
/** Labels that Prometheus adds. */
const added = ['instance', 'job'];

describe.each([
  ['deploy/grafana-dashboard.json', queries],
  ['deploy/prometheus-rules.yml', alerts],
])('%s', (_, named) => {
  it.each(named)('has a query of existing metrics and labels: %s', (_title, expr) => {
    const { metrics, labels } = namesIn(expr);
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !series.has(name))).toEqual([]);
    const known = new Set([...metrics.flatMap((name) => series.get(name)!), ...added]);
    expect(labels.filter((label) => !known.has(label))).toEqual([]);
  });
});

describe('the check of queries', () => {
  it.each([
    ['sum by (modle) (offpeak_open_batches)', 'modle'],
    ['offpeak_open_batches{modle="x"}', 'modle'],
    ['offpeak_open_batches * on (modle) group_left (name) offpeak_org_info', 'modle'],
  ])('sees a wrong label: %s', (expr, label) => {
    expect(namesIn(expr).labels).toContain(label);
  });

  it('sees metrics, but not the text of labels', () => {
    expect(namesIn('rate(offpeak_a_total{x="offpeak_b"}[5m]) / process_c').metrics).toEqual([
      'offpeak_a_total',
      'process_c',
    ]);
  });
});

describe('the dashboard', () => {
  it('shows every metric of batches, requests, models, webhooks and orgs', () => {
    const shown = new Set(queries.flatMap(([, expr]) => namesIn(expr).metrics));
    const missing = listMetrics()
      .map(({ name, type }) => (type === 'histogram' ? `${name}_bucket` : name))
      .filter((name) => !shown.has(name));
    // The name of an org is joined by those who want it.
    expect(missing).toEqual(['offpeak_org_info']);
  });

  it('has variables of existing metrics and labels', () => {
    const found = dashboard.templating.list.filter(({ type }) => type === 'query');
    expect(found.map(({ name }) => name)).toEqual(['model', 'instance']);
    for (const { query } of found) {
      const text = typeof query === 'string' ? query : query.query;
      const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(text) ?? [];
      expect([...(series.get(metric!) ?? []), ...added]).toContain(label);
    }
  });

  it('has panels with ids of their own that do not overlap', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });
});
