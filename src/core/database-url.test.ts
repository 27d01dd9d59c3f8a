import { describe, expect, test } from 'vitest';
import { parseDatabaseUrl } from './database-url.ts';

const faultOf = (url: string) => {
  try {
    return parseDatabaseUrl(url);
  } catch (error) {
    return error;
  }
};

describe('a database URL', () => {
  test('has a host, a port, a user, a password and a database', () => {
    expect(parseDatabaseUrl('postgresql://some%40one:p%3Ass@db.internal:6432/off%20peak')).toMatchObject({
      hosts: [{ host: 'db.internal', port: 6432 }],
      user: 'some@one',
      password: 'p:ss',
      database: 'off peak',
      tls: undefined,
      name: 'db.internal:6432/off peak',
      secrets: ['p%3Ass', 'p:ss'],
    });
  });

  test.each([
    ['postgres://', ['localhost', 5432], '/'],
    ['postgres:///x', ['localhost', 5432], 'localhost/x'],
    ['postgres://u@[::1]:5433/x', ['::1', 5433], '[::1]:5433/x'],
    ['postgres://u:p@ss@db/x', ['db', 5432], 'db/x'],
    [
      'postgres://u@/x?host=/var/run/postgresql&port=5433',
      ['/var/run/postgresql', 5433],
      '/var/run/postgresql:5433/x',
    ],
    ['postgres://%2Fvar%2Frun%2Fpostgresql/x', ['/var/run/postgresql', 5432], '/var/run/postgresql/x'],
  ])('may be %s', (url, [host, port], name) => {
    const found = parseDatabaseUrl(url);
    expect(found.hosts).toEqual([{ host, port }]);
    if (url !== 'postgres://') expect(found.name).toBe(name);
  });

  test.each([
    ['postgres://u@a:1,b:2,c/x?target_session_attrs=read-write', [1, 2, 5432]],
    ['postgres://u@/x?host=a,b,c&port=1,2,3', [1, 2, 3]],
    ['postgres://u@a,b,c/x?port=7', [7, 7, 7]],
  ])('may have several hosts: %s', (url, ports) => {
    expect(parseDatabaseUrl(url).hosts).toEqual(['a', 'b', 'c'].map((host, n) => ({ host, port: ports[n] })));
  });

  test.each([
    ['sslmode=disable', undefined],
    ['sslmode=require', { verify: 'none' }],
    ['ssl=true', { verify: 'none' }],
    ['sslmode=require&sslrootcert=/ca.pem', { verify: 'ca', ca: '/ca.pem' }],
    ['sslmode=verify-ca&sslrootcert=/ca.pem', { verify: 'ca', ca: '/ca.pem' }],
    ['sslmode=verify-full', { verify: 'full', ca: undefined }],
    ['sslmode=verify-full&sslrootcert=system', { verify: 'full', ca: undefined }],
    ['sslmode=require&sslrootcert=system', { verify: 'full', ca: undefined }],
    ['sslrootcert=/ca.pem', { verify: 'full', ca: '/ca.pem' }],
    ['sslmode=require&channel_binding=require&sslnegotiation=direct', { bindsChannel: true, direct: true }],
  ])('has TLS by %s', (query, tls) => {
    const found = parseDatabaseUrl(`postgres://u@db/x?${query}`).tls;
    if (tls === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(tls);
  });

  test('takes time limit, options and application name', () => {
    expect(
      parseDatabaseUrl(
        'postgres://db/x?connect_timeout=3&options=-c%20a%3Db&application_name=me&keepalives=1',
      ),
    ).toMatchObject({ connectMs: 3_000, options: '-c a=b', applicationName: 'me' });
  });

  test.each([
    ['mysql://db/x', 'must be sqlite or a postgres:// URL'],
    ['host=a dbname=x', 'must be sqlite or a postgres:// URL'],
    ['postgres://u@a:b:c/x', 'names a host that cannot be read'],
    ['postgres://u@a:70000/x', 'has a port that is not a number from 1 to 65535'],
    ['postgres://u@a,b,c/x?port=1,2', 'has 3 hosts and 2 ports'],
    ['postgres://u@a/x?sslmod=verify-full', 'has the unknown parameter sslmod'],
    ['postgres://u@a/x?sslmode=prefer', 'has sslmode=prefer, which Offpeak does not support'],
    ['postgres://u@a/x?sslmode=verify-ca', 'has sslmode=verify-ca without a file of sslrootcert'],
    [
      'postgres://u@a,b/x?target_session_attrs=standby',
      'has target_session_attrs=standby, but Offpeak writes to its database',
    ],
    ['postgres://u@a/x?connect_timeout=soon', 'has a connect_timeout that is not in whole seconds'],
  ])('is refused: %s', (url, message) => {
    expect(faultOf(url)).toMatchObject({
      name: 'DatabaseUrlError',
      message,
      hint: expect.stringMatching(/\.$/),
    });
  });
});
