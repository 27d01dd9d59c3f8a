import type { Socket } from 'node:net';
import type { Clock } from '../../../base/clock.ts';
import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import type { Finding } from '../../../core/examination.ts';
import { seconds } from '../connection/network-errors.ts';
import { loadUndici } from '../connection/undici.ts';
import { fault, ok } from './findings.ts';

interface ConnectOptions {
  url: string;
  ca?: string | undefined;
  connectMs: number;
  clock: Clock;
}

/** Checks that a server listens at the address and speaks the protocol of its scheme. */
export async function examineConnection(options: ConnectOptions): Promise<Finding> {
  const { url, connectMs, clock } = options;
  const { host, hostname, protocol } = new URL(url);
  const begun = clock.monotonic();
  try {
    await connect(options);
    return ok('connection', `${Math.round(clock.monotonic() - begun)} ms`);
  } catch (error) {
    return fault('connection', explain(fieldsOf(error)));
  }

  function explain(error: Fields): Pick<Finding, 'summary' | 'advice' | 'key'> {
    const key = 'url';
    const code = stringOr(error['code'], '');
    if (code === 'ECONNREFUSED')
      return {
        key,
        summary: `no server listens at ${host}`,
        advice: 'Start the server, or correct the address.',
      };
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      return {
        key,
        summary: `the host name ${hostname} does not resolve`,
        advice: 'Check the name and the DNS of this machine.',
      };
    if (protocol === 'https:' && /SSL|EPROTO|ECONNRESET|UND_ERR_SOCKET/.test(code))
      return { key, summary: `${host} does not speak HTTPS`, advice: `Use http://${withoutScheme(url)}.` };
    const certificate = `the certificate of ${host}`;
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
      const names = stringOr(fieldsOf(error['cert'])['subjectaltname'], 'no name');
      return { key, summary: `${certificate} is for ${names}`, advice: 'Use a name of the certificate.' };
    }
    if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
      const summary = `${certificate} is not valid at this time (${code})`;
      return { key, summary, advice: 'Renew it, or correct the clock of this machine.' };
    }
    if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code))
      return {
        key: 'ca',
        summary: `${certificate} has no trusted issuer (${code})`,
        advice: 'Name the file of its certificate authority: ca: /path/to/ca.pem.',
      };
    const summary = `${host} cannot be reached within ${seconds(connectMs)} (${code || 'no error code'})`;
    return { key, summary, advice: 'Check that it is up and that no firewall blocks this machine.' };
  }
}

/** Fault if a server that does not answer HTTP speaks HTTPS, with any certificate; otherwise null. */
export async function findHttps(options: ConnectOptions): Promise<Finding | null> {
  const { url } = options;
  if (!url.startsWith('http:')) return null;
  const https = `https://${withoutScheme(url)}`;
  try {
    await connect({ ...options, url: https }, false);
  } catch {
    return null;
  }
  const summary = `${new URL(url).host} speaks HTTPS`;
  return fault('connection', { key: 'url', summary, advice: `Use ${https}.` });
}

function withoutScheme(url: string): string {
  return url.replace(/^https?:\/\//, '');
}

function connect({ url, ca, connectMs }: ConnectOptions, rejectUnauthorized = true): Promise<void> {
  const { hostname, host, port, protocol } = new URL(url);
  const open = loadUndici().buildConnector({
    timeout: connectMs,
    allowH2: false,
    rejectUnauthorized,
    ...(ca && { ca }),
  });
  return new Promise((resolve, reject) => {
    const where = { hostname, host, port: port || (protocol === 'https:' ? '443' : '80'), protocol };
    open(where, (error: Error | null, socket: Socket | null) => {
      socket?.destroy();
      if (error) reject(error);
      else resolve();
    });
  });
}
