import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, type Answer, bodyOf, type Item } from './client.ts';
import { hasScope, type Session } from './session.ts';

/** Batch of the list. Only operators see the org. */
export type Batch = Item<'/v1/batches'> & { org?: string | null; org_id?: string };
export type BatchHistory = Answer<'/v1/batches/{batch_id}/history'>;
export type BatchCounts = Answer<'/v1/batches/counts'>;
export type BatchAction = Answer<'/v1/batches/actions/{action_id}'>;

/** Filters of the list, as in the query of the API. */
export interface BatchFilters {
  q?: string | undefined;
  status?: Batch['status'] | undefined;
  waiting?: string | undefined;
  at_risk?: boolean | undefined;
  model?: string | undefined;
  org?: string | undefined;
}

export interface BatchPage {
  data: Batch[];
  has_more: boolean;
}

const pageSize = 100;

/** True for a session that sees the batches of all orgs. */
export function seesAllOrgs({ scopes }: Pick<Session, 'scopes'>): boolean {
  return hasScope({ scopes }, 'admin:read');
}

/** True if the session reads prompts and answers of a batch: they are for keys of its org. */
export function readsTexts(session: Pick<Session, 'scopes' | 'org_id'>, batch: Batch): boolean {
  return (batch.org_id ?? session.org_id) === session.org_id && hasScope(session, 'batches:read');
}

/** Org of a batch, as an operator sees it. */
export function ownerOf({ org, org_id: orgId }: Batch): string {
  return org ? `the org ${org}` : `the org ${orgId}`;
}

export function batchListKey(isAdmin: boolean, filters: BatchFilters) {
  return ['batches', isAdmin, filters] as const;
}

/** One page of batches, newest first: of all orgs for an admin, otherwise of the own org. */
export async function fetchBatches(
  isAdmin: boolean,
  { waiting, org, ...rest }: BatchFilters,
  { limit, after, signal }: { limit: number; after?: string | undefined; signal: AbortSignal },
): Promise<BatchPage> {
  const query = { ...rest, waiting: waiting as 'any' | undefined, limit, after };
  if (isAdmin) return bodyOf(api.GET('/v1/admin/batches', { params: { query: { ...query, org } }, signal }));
  return bodyOf(api.GET('/v1/batches', { params: { query }, signal }));
}

/** Number of batches in each state: of all orgs or one for an admin, otherwise of the own org. */
export function batchCountsQuery(isAdmin: boolean, org?: string) {
  return queryOptions({
    queryKey: ['batch counts', isAdmin, org],
    async queryFn({ signal }): Promise<BatchCounts> {
      if (!isAdmin) return bodyOf(api.GET('/v1/batches/counts', { signal }));
      return bodyOf(api.GET('/v1/admin/batches/counts', { params: { query: { org } }, signal }));
    },
    refetchInterval: 5_000,
  });
}

/** Sum of the states; `isAtLeast` if one of them has more than the server counts. */
export function sumCounts({ counts, max }: BatchCounts, states: readonly Batch['status'][]) {
  return {
    size: states.reduce((sum, state) => sum + counts[state], 0),
    isAtLeast: states.some((state) => counts[state] >= max),
  };
}

/** Number of open batches at risk, and of those that wait for a reason: as in their first pages, because neither is stored. */
export function waitCountsQuery(isAdmin: boolean, filters: BatchFilters) {
  return queryOptions({
    queryKey: ['wait counts', isAdmin, filters],
    async queryFn({ signal }) {
      const page = (of: BatchFilters) =>
        fetchBatches(isAdmin, { ...filters, ...of }, { limit: pageSize, signal });
      const [risks, waits] = await Promise.all([page({ at_risk: true }), page({ waiting: 'any' })]);
      const counted = ({ has_more: isAtLeast }: BatchPage, size: number) => ({ size, isAtLeast });
      return {
        atRisk: counted(risks, risks.data.length),
        waiting: (reason: string) =>
          counted(
            waits,
            waits.data.filter((batch) => reason === 'any' || batch.waiting?.reason === reason).length,
          ),
      };
    },
  });
}

/** Pages of batches, newest first. They are kept up to date by events. */
export function batchListQuery(isAdmin: boolean, filters: BatchFilters) {
  return infiniteQueryOptions({
    queryKey: batchListKey(isAdmin, filters),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      fetchBatches(isAdmin, filters, { limit: pageSize, after: pageParam, signal }),
    getNextPageParam: (page) => (page.has_more ? page.data.at(-1)?.id : undefined),
    staleTime: 30_000,
  });
}

export function batchQuery(isAdmin: boolean, id: string) {
  return queryOptions({
    queryKey: ['batch', isAdmin, id],
    async queryFn({ signal }): Promise<Batch> {
      const params = { path: { batch_id: id } };
      if (isAdmin) return bodyOf(api.GET('/v1/admin/batches/{batch_id}', { params, signal }));
      return bodyOf(api.GET('/v1/batches/{batch_id}', { params, signal }));
    },
    staleTime: 30_000,
  });
}

export function batchHistoryQuery(isAdmin: boolean, id: string, isOpen: boolean) {
  return queryOptions({
    queryKey: ['batch history', isAdmin, id],
    async queryFn({ signal }): Promise<BatchHistory> {
      const params = { path: { batch_id: id } };
      if (isAdmin) return bodyOf(api.GET('/v1/admin/batches/{batch_id}/history', { params, signal }));
      return bodyOf(api.GET('/v1/batches/{batch_id}/history', { params, signal }));
    },
    refetchInterval: isOpen && 5_000,
  });
}

export type ActionKind = 'pause' | 'resume' | 'cancel' | 'retry';

/** Batches that an action is for, and what it does. */
export interface ActionRequest {
  action: ActionKind;
  ids?: string[];
  filter?: BatchFilters;
  codes?: string[];
}

export type ActionPreview = Answer<'/v1/batches/actions', 'post'> & { object: 'batch_action.preview' };

/** Counts what an action would change. */
export async function previewAction(isAdmin: boolean, request: ActionRequest): Promise<ActionPreview> {
  return (await postAction(isAdmin, { ...request, dry_run: true })) as ActionPreview;
}

export async function startAction(isAdmin: boolean, request: ActionRequest): Promise<BatchAction> {
  return (await postAction(isAdmin, request)) as BatchAction;
}

async function postAction(isAdmin: boolean, { filter, ...rest }: ActionRequest & { dry_run?: boolean }) {
  const body = { ...rest, ...(filter && { filter: filter as object }) };
  if (isAdmin) return bodyOf(api.POST('/v1/admin/batches/actions', { body }));
  return bodyOf(api.POST('/v1/batches/actions', { body }));
}

export function actionQuery(isAdmin: boolean, id: string) {
  return queryOptions({
    queryKey: ['action', isAdmin, id],
    async queryFn({ signal }): Promise<BatchAction> {
      const params = { path: { action_id: id } };
      if (isAdmin) return bodyOf(api.GET('/v1/admin/batches/actions/{action_id}', { params, signal }));
      return bodyOf(api.GET('/v1/batches/actions/{action_id}', { params, signal }));
    },
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 500 : false),
  });
}

export async function stopAction(isAdmin: boolean, id: string): Promise<BatchAction> {
  const params = { path: { action_id: id } };
  if (isAdmin) return bodyOf(api.POST('/v1/admin/batches/actions/{action_id}/cancel', { params }));
  return bodyOf(api.POST('/v1/batches/actions/{action_id}/cancel', { params }));
}

/** Creates a batch of the requests that failed with one of these codes, or of all failed ones. */
export async function retryBatch(isAdmin: boolean, id: string, codes: string[] | null): Promise<Batch> {
  const call = { params: { path: { batch_id: id } }, body: { codes } };
  if (isAdmin) return bodyOf(api.POST('/v1/admin/batches/{batch_id}/retry', call)) as Promise<Batch>;
  return bodyOf(api.POST('/v1/batches/{batch_id}/retry', call)) as Promise<Batch>;
}
