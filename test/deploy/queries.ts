import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const deployFolder = fileURLToPath(new URL('../../deploy', import.meta.url));
const read = (name: string) => readFileSync(join(deployFolder, name), 'utf8');

export interface Rule {
  alert: string;
  expr: string;
}

export function readRules(): Rule[] {
  const { groups } = parse(read('prometheus-rules.yml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}

interface Variable {
  name: string;
  type: string;
  query: string | { query: string };
}

interface Dashboard {
  uid: string;
  panels: Panel[];
  templating: { list: Variable[] };
}

export const readDashboard = () => JSON.parse(read('grafana-dashboard.json')) as Dashboard;

/** Queries of the dashboard by the title of their panel, for all models and processes. */
export function dashboardQueries({ panels, templating }: Dashboard): [string, string][] {
  const names = templating.list.filter(({ type }) => type === 'query').map(({ name }) => name);
  const filled = (expr: string) =>
    names
      .reduce((text, name) => text.replaceAll(`$${name}`, '.*'), expr)
      .replaceAll('$__rate_interval', '1m');
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [title, filled(expr)]),
  );
}

/** Metrics and labels that a PromQL expression names. */
export function namesIn(expr: string): { metrics: string[]; labels: string[] } {
  const plain = expr.replaceAll(/"[^"]*"/g, '""');
  const selectors = [...plain.matchAll(/\{([^}]*)\}/g)].flatMap(
    ([, text]) => text!.match(/\w+(?=\s*[=!])/g) ?? [],
  );
  const groupings = [...plain.matchAll(/\b(?:by|on|group_left)\s*\(([^)]*)\)/g)];
  return {
    metrics: plain.match(/\b(?:offpeak|nodejs|process)_\w+/g) ?? [],
    labels: [...selectors, ...groupings.flatMap(([, text]) => text!.match(/\w+/g) ?? [])],
  };
}
