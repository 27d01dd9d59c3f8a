import type { Socket } from 'node:net';
import type { Clock } from '../../../base/clock.ts';
import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import type { Finding } from '../../../core/examination.ts';
import { seconds } from '../connection/network-errors.ts';
import { fault, ok } from './findings.ts';
import { loadUndici } from '../connection/undici.ts';

interface Connecting {
  url: string;
  ca?: string | undefined;
  connectMs: number;
  clock: Clock;
}

/** Whether there is anybody at the address, who speaks what its scheme says. */
export async function examineConnection(options: Connecting): Promise<Finding> {
  const { url, connectMs, clock } = options;
  const { host, hostname, protocol } = new URL(url);
  const begun = clock.monotonic();
  try {
    await connect(options);
    return ok('connection', `${Math.round(clock.monotonic() - begun)} ms`);
  } catch (error) {
    return fault('connection', explain(fieldsOf(error)));
  }

  function explain(error: Fields): Pick<Finding, 'told' | 'advice' | 'key'> {
    const key = 'url';
    const code = stringOr(error['code'], '');
    if (code === 'ECONNREFUSED')
      return { key, told: `nobody listens at ${host}`, advice: 'Start the server, or mend the address.' };
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      return { key, told: `no machine is known as ${hostname}`, advice: 'Is the name right, from here?' };
    if (protocol === 'https:' && /SSL|EPROTO|ECONNRESET|UND_ERR_SOCKET/.test(code))
      return { key, told: `${host} does not speak HTTPS`, advice: `Write http://${rest(url)}.` };
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
      const names = stringOr(fieldsOf(error['cert'])['subjectaltname'], 'no name');
      return {
        key,
        told: `the certificate of ${host} is for ${names}`,
        advice: 'Write a name that it is for.',
      };
    }
    if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
      const told = `the certificate of ${host} is not valid at this time (${code})`;
      return { key, told, advice: 'Renew it; or is the clock of this machine wrong?' };
    }
    if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code))
      return {
        key: 'ca',
        told: `nobody who is known signs the certificate of ${host} (${code})`,
        advice: 'Name the file of who signs it: ca: /path/to/ca.pem.',
      };
    const told = `${host} cannot be reached within ${seconds(connectMs)} (${code || 'no reason told'})`;
    return { key, told, advice: 'Is it up, and does a firewall let this machine through?' };
  }
}

/** Whether a server that does not answer HTTP speaks HTTPS, whoever signs for it. */
export async function findHttps(options: Connecting): Promise<Finding | null> {
  const { url } = options;
  if (!url.startsWith('http:')) return null;
  try {
    await connect({ ...options, url: `https://${rest(url)}` }, false);
  } catch {
    return null;
  }
  const told = `${new URL(url).host} speaks HTTPS`;
  return fault('connection', { key: 'url', told, advice: `Write https://${rest(url)}.` });
}

function rest(url: string): string {
  return url.replace(/^https?:\/\//, '');
}

function connect({ url, ca, connectMs }: Connecting, rejectUnauthorized = true): Promise<void> {
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
