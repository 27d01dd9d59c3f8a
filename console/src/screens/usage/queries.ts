import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf, type Answer } from '../../api/client.ts';
import { send } from '../../api/send.ts';
import { apiBase } from '../../api/client.ts';
import { toFailure } from '../../api/failure.ts';
import { type Days, lastWeek } from './days.ts';
import type { Group } from './search.ts';
import { toNano } from './sums.ts';

export type Budget = Answer<'/v1/usage'>['budgets'][number];

const maxRows = 10_000;
const refetchInterval = 60_000;

interface Report extends Days {
  by: Group;
  org?: string | undefined;
}

/** Usage by day and group, with the budgets of its orgs and keys. */
export function usageQuery({ start, end, by, org }: Report) {
  return queryOptions({
    queryKey: ['usage', start, end, by, org],
    queryFn: ({ signal }) => {
      const query = { start, end, group_by: `day,${by}`, limit: maxRows, ...(org && { org_id: org }) };
      return bodyOf(api.GET('/v1/usage', { params: { query }, signal }));
    },
    placeholderData: (before) => before,
    refetchInterval,
  });
}

/** Nano-dollars of the last seven whole days, by the ids of orgs and keys. */
export function paceQuery(now: number, org?: string) {
  const { start, end } = lastWeek(now);
  return queryOptions({
    queryKey: ['usage', 'pace', start, org],
    async queryFn({ signal }) {
      const query = { start, end, group_by: 'org,key', limit: maxRows, ...(org && { org_id: org }) };
      const { data } = await bodyOf(api.GET('/v1/usage', { params: { query }, signal }));
      const pace = new Map<string, number>();
      for (const { org_id: orgId, key_id: keyId, amount } of data)
        for (const id of [orgId, keyId]) if (id) pace.set(id, (pace.get(id) ?? 0) + toNano(amount));
      return pace;
    },
    staleTime: refetchInterval,
  });
}

/** Usage as CSV, all pages of it. @throws ApiFailure */
export async function usageCsv({ start, end, by, org }: Report): Promise<Blob> {
  const parts: string[] = [];
  let after: string | null = null;
  do {
    const query = new URLSearchParams({ start, end, group_by: `day,${by}`, limit: String(maxRows) });
    if (org) query.set('org_id', org);
    if (after !== null) query.set('after', after);
    const response = await send(
      new Request(`${apiBase}/v1/usage?${query.toString()}`, { headers: { accept: 'text/csv' } }),
    );
    const text = await response.text();
    if (!response.ok) throw toFailure(response.status, parsed(text));
    // Each page has the header line.
    parts.push(after === null ? text : text.slice(text.indexOf('\n') + 1));
    after = response.headers.get('x-incomplete') === 'true' ? response.headers.get('x-last-id') : null;
  } while (after !== null);
  return new Blob(parts, { type: 'text/csv' });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
