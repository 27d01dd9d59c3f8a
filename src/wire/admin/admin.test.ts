import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../core/errors.ts';
import { keyDefaults, orgDefaults } from '../../core/org.ts';
import { parseCreateKey, presentKey } from './keys.ts';
import { parseCreateOrg, presentOrg } from './orgs.ts';

const instant = Date.UTC(2026, 10, 21, 9, 30);

function refused(read: () => unknown): string | null {
  try {
    read();
  } catch (error) {
    return (error as ApiError).param;
  }
  throw new Error('was accepted');
}

describe('orgs', () => {
  it('need only a name', () => {
    expect(parseCreateOrg('{"name":"acme"}')).toEqual({ name: 'acme' });
    expect(parseCreateOrg('{"name":" a team "}')).toEqual({ name: ' a team ' });
    for (const body of ['{}', '{"name":""}', '{"name":" "}', '{"name":"\\u00a0 "}', '{"name":5}'])
      expect(refused(() => parseCreateOrg(body))).toBe('name');
    expect(refused(() => parseCreateOrg('{"name":"a","admin":true}'))).toBe('admin');
  });

  it('are shown with the time they were made', () => {
    expect(
      presentOrg({ id: 'org_1', name: 'acme', createdAt: instant, ...orgDefaults, budget: null }, instant),
    ).toEqual({
      id: 'org_1',
      object: 'org',
      name: 'acme',
      created_at: '2026-11-21T09:30:00Z',
      disabled: false,
      disabled_at: null,
      weight: 1,
      limits: {},
      budget: null,
    });
  });
});

describe('keys', () => {
  it('accept all fields, or only the org', () => {
    const all = {
      org_id: 'org_1',
      name: 'ci',
      scopes: ['files', 'admin'],
      models: ['tiny'],
      expires_at: '2026-11-21T09:30:00Z',
    };
    expect(parseCreateKey(JSON.stringify(all))).toEqual({
      orgId: 'org_1',
      name: 'ci',
      scopes: ['files', 'admin'],
      models: ['tiny'],
      expiresAt: instant,
    });
    expect(
      parseCreateKey('{"org_id":"org_1","name":null,"scopes":null,"models":null,"expires_at":null}'),
    ).toEqual({ orgId: 'org_1', models: null, expiresAt: null });
    expect(parseCreateKey(`{"org_id":"o","expires_at":${instant / 1000}}`).expiresAt).toBe(instant);
  });

  it.each([
    [{}, 'org_id'],
    [{ org_id: 'o', scopes: ['root'] }, 'scopes[0]'],
    [{ org_id: 'o', scopes: [] }, 'scopes'],
    [{ org_id: 'o', scopes: ['files', 'files'] }, 'scopes'],
    [{ org_id: 'o', models: [] }, 'models'],
    [{ org_id: 'o', models: [5] }, 'models[0]'],
    [{ org_id: 'o', expires_at: 'soon' }, 'expires_at'],
    [{ org_id: 'o', expires_at: -1 }, 'expires_at'],
    [{ org_id: 'o\u0000' }, 'org_id'],
    [{ org_id: 'o', allowed_routes: ['/*'] }, 'allowed_routes'],
  ])('C07: refuse %j', (body, param) => {
    expect(refused(() => parseCreateKey(JSON.stringify(body)))).toBe(param);
  });

  it('show their secret only once', () => {
    const key: Parameters<typeof presentKey>[0] = {
      id: 'key_1',
      orgId: 'org_1',
      name: 'ci',
      prefix: 'sk-offpeak-ab...wxyz',
      scopes: ['files'],
      models: null,
      createdAt: instant,
      expiresAt: instant,
      revokedAt: null,
      lastUsedAt: null,
      ...keyDefaults,
      orgName: 'search',
      spentBudget: null,
    };
    expect(presentKey(key, instant, 'sk-secret').key).toBe('sk-secret');
    expect(presentKey(key, instant)).toEqual({
      budget: null,
      id: 'key_1',
      object: 'api_key',
      org_id: 'org_1',
      org: 'search',
      name: 'ci',
      prefix: 'sk-offpeak-ab...wxyz',
      scopes: ['files'],
      service_tier: null,
      models: null,
      limits: {},
      priority: 9,
      created_at: '2026-11-21T09:30:00Z',
      expires_at: '2026-11-21T09:30:00Z',
      revoked_at: null,
      replaced_by: null,
      disabled: false,
      disabled_at: null,
      last_used_at: null,
    });
  });
});
