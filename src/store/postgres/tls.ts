import { readFileSync } from 'node:fs';
import { type ConnectionOptions, getCACertificates } from 'node:tls';
import { StoreError } from '../../core/store-error.ts';
import type { DatabaseTls } from '../../core/database-url.ts';

/**
 * TLS options of one connection. Files are read for each, so that renewed ones take effect.
 * @throws StoreError if a file cannot be read
 */
export function tlsOptions(tls: DatabaseTls): ConnectionOptions {
  const read = (parameter: string, path: string | undefined) => {
    try {
      return path === undefined ? undefined : readFileSync(path, 'utf8');
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
      throw new StoreError(
        'refused',
        `The file ${path} of ${parameter} in the database URL cannot be read (${code}).`,
        'Correct the path, or allow the user of this process to read the file.',
        { cause },
      );
    }
  };
  const { verify, ca, cert, key, passphrase } = tls;
  const options = { cert: read('sslcert', cert), key: read('sslkey', key), passphrase };
  if (verify === 'none') return { ...options, rejectUnauthorized: false };
  const trusted = read('sslrootcert', ca) ?? [
    ...getCACertificates('default'),
    ...getCACertificates('system'),
  ];
  return { ...options, ca: trusted, ...(verify === 'ca' && { checkServerIdentity: () => undefined }) };
}

const unknownAuthority =
  /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_UNTRUSTED)$/;

/** Explains a failed TLS handshake with the database `name`; undefined for other errors. */
export function tlsFault(error: unknown, name: string): { message: string; hint: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (unknownAuthority.test(code))
    return {
      message: `The certificate of the database ${name} is not signed by a known authority (${code}).`,
      hint: "Name a file with the authority's certificate with sslrootcert in the database URL.",
    };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      message: `The certificate of the database ${name} is for other hosts: ${namesOf(error)}.`,
      hint: 'Write one of these hosts into the database URL, or write sslmode=verify-ca to accept any.',
    };
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return {
      message: `The certificate of the database ${name} ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}.`,
      hint: 'Renew it, and check the clock of this machine.',
    };
  if (error.message === 'The server does not support SSL connections')
    return {
      message: `The database ${name} does not offer TLS.`,
      hint: 'Turn on ssl in Postgres (client_tls_sslmode in PgBouncer), or write sslmode=disable into the database URL.',
    };
  const isRefused = code === '28000' || code === '08P01';
  if (isRefused && /no encryption|SSL off|SSL required/.test(error.message))
    return {
      message: `The database ${name} refuses connections without TLS.`,
      hint: 'Add sslmode=verify-full to the database URL.',
    };
  if (
    code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' ||
    (isRefused && /valid client certificate/.test(error.message))
  )
    return {
      message: `The database ${name} asks for a certificate of this client.`,
      hint: 'Add sslcert and sslkey to the database URL.',
    };
  if (code.startsWith('ERR_OSSL_'))
    return {
      message: `The certificate files of the database URL cannot be used: ${error.message}.`,
      hint: 'Check that sslrootcert, sslcert and sslkey are PEM files, and that the key belongs to the certificate.',
    };
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('CERT_'))
    return {
      message: `The TLS connection to the database ${name} failed (${code}).`,
      hint: 'The log of Postgres may show the cause.',
    };
  return undefined;
}

/** Names of a certificate for other hosts. */
function namesOf(error: Error): string {
  const { cert } = error as { cert?: { subjectaltname?: string; subject?: { CN?: string } } };
  const names = cert?.subjectaltname?.replaceAll(/(DNS|IP Address):/g, '') ?? cert?.subject?.CN;
  return names === undefined || names === '' ? 'it names none' : names;
}
