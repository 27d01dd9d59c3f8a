import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  cert: string;
  key: string;
}

export interface Authority {
  /** File of the authority's certificate. */
  file: string;
  /**
   * @param names `DNS:db.internal` or `IP:127.0.0.1`
   * @param days days of validity; negative for one that has expired
   */
  issue(names: string, days?: number): Certificate;
  remove(): void;
}

/** Makes an authority with `openssl`. */
export function makeAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => void execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const ca = ['-addext', 'basicConstraints=critical,CA:TRUE'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '30',
    '-subj',
    '/CN=authority',
    ...ca,
  );
  return {
    file: at('ca.pem'),
    issue(names, days = 30) {
      openssl('req', ...key, '-keyout', 'one.key', '-out', 'one.csr', '-subj', '/CN=postgres');
      writeFileSync(at('extensions'), `subjectAltName=${names}\n`);
      const signed = [
        '-in',
        'one.csr',
        '-CA',
        'ca.pem',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-out',
        'one.pem',
      ];
      openssl('x509', '-req', ...signed, '-days', String(days), '-extfile', 'extensions');
      return { cert: readFileSync(at('one.pem'), 'utf8'), key: readFileSync(at('one.key'), 'utf8') };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
