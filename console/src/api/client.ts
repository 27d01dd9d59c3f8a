import createClient from 'openapi-fetch';
import { consolePath } from './base.ts';
import { toFailure } from './failure.ts';
import type { paths } from './schema.d.ts';
import { send } from './send.ts';

/** Prefix of the API under which the server takes the caller from the session. */
export const apiBase = `${consolePath}api`;

/** Calls of the API with the types of its OpenAPI document: `api.GET('/v1/batches', { params: { query: { limit: 100 } } })`. */
export const api = createClient<paths, 'application/json'>({ baseUrl: apiBase, fetch: send });

/**
 * Body of a successful answer.
 * @example useQuery({ queryKey: ['queue'], queryFn: ({ signal }) => bodyOf(api.GET('/v1/admin/queue', { signal })) })
 * @throws ApiFailure
 */
export async function bodyOf<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (!response.ok || data === undefined || data === null) throw toFailure(response.status, error);
  return data;
}

type Method = 'get' | 'post' | 'patch' | 'delete';
type Json<Responses, Status extends PropertyKey> =
  Responses extends Record<Status, { content: { 'application/json': infer Body } }> ? Body : never;

/** Body of a successful answer to an operation: `Answer<'/v1/batches/{batch_id}'>` is a batch. */
export type Answer<Path extends keyof paths, M extends Method = 'get'> =
  paths[Path] extends Record<M, { responses: infer Responses }>
    ? Json<Responses, 200> | Json<Responses, 201>
    : never;

/** Item of a list: `Item<'/v1/batches'>`. */
export type Item<Path extends keyof paths> = Answer<Path> extends { data: (infer Row)[] } ? Row : never;
