import { queryOptions } from '@tanstack/react-query';
import { type Answer, api, bodyOf } from './client.ts';

export type LimitUse = Answer<'/v1/limits'>['data'][number];

/** Owner of limits: the key of the session with its org, an org, or a key with its org. */
export type LimitOwner = { kind: 'self' } | { kind: 'org' | 'key'; id: string };

/** Limits in force, with how much of each is used. */
export function limitsQuery(owner: LimitOwner) {
  return queryOptions({
    queryKey: ['limits', owner],
    queryFn: async ({ signal }) => (await read(owner, signal)).data,
    refetchInterval: 5_000,
  });
}

function read(owner: LimitOwner, signal: AbortSignal): Promise<Answer<'/v1/limits'>> {
  if (owner.kind === 'self') return bodyOf(api.GET('/v1/limits', { signal }));
  if (owner.kind === 'org')
    return bodyOf(
      api.GET('/v1/admin/orgs/{org_id}/limits', { params: { path: { org_id: owner.id } }, signal }),
    );
  return bodyOf(
    api.GET('/v1/admin/keys/{key_id}/limits', { params: { path: { key_id: owner.id } }, signal }),
  );
}
