import type { Page, RemoteBudget, RemoteKey, RemoteOrg } from './resources.ts';
import type { Transport } from './transport.ts';

/** Orgs and keys, for a key with the scope `admin` (api.md, section 8). */
export interface AdminClient {
  orgs: {
    create(input: NewRemoteOrg & { name: string }): Promise<RemoteOrg>;
    list(): Promise<Page<RemoteOrg>>;
    update(id: string, changes: NewRemoteOrg): Promise<RemoteOrg>;
  };
  keys: {
    create(input: NewRemoteKey): Promise<RemoteKey>;
    list(orgId?: string): Promise<Page<RemoteKey>>;
    revoke(id: string): Promise<RemoteKey>;
  };
}

export interface NewRemoteOrg {
  name?: string | undefined;
  /** Null for none. */
  budget?: RemoteBudget | null | undefined;
}

export interface NewRemoteKey {
  org_id: string;
  name?: string | undefined;
  scopes?: string[] | undefined;
  models?: string[] | undefined;
  expires_at?: string | undefined;
}

export function createAdminClient(transport: Transport): AdminClient {
  const orgs = '/v1/admin/orgs';
  const keys = '/v1/admin/keys';
  return {
    orgs: {
      create: (json) => transport.json({ method: 'POST', path: orgs, json }),
      list: () => transport.json({ path: orgs }),
      update: (id, json) =>
        transport.json({ method: 'PATCH', path: `${orgs}/${encodeURIComponent(id)}`, json }),
    },
    keys: {
      create: (json) => transport.json({ method: 'POST', path: keys, json }),
      list: (orgId) => transport.json({ path: keys, query: { org_id: orgId } }),
      revoke: (id) => transport.json({ method: 'DELETE', path: `${keys}/${encodeURIComponent(id)}` }),
    },
  };
}
