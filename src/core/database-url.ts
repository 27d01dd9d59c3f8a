import { presence } from '../base/fields.ts';
import { words } from '../base/words.ts';

/** Contents of a `postgres://` URL in the syntax of libpq. */
export interface DatabaseUrl {
  /** Servers, of which one takes writes at a time. */
  hosts: DatabaseHost[];
  user: string | undefined;
  password: string | undefined;
  database: string | undefined;
  /** Absent to connect in clear. */
  tls: DatabaseTls | undefined;
  /** Time to connect to one of several hosts, in milliseconds. */
  connectMs: number | undefined;
  /** Command-line options of the server process, such as `-c search_path=offpeak`. */
  options: string | undefined;
  applicationName: string | undefined;
  /** Hosts and database for display, without user and password. */
  name: string;
  /** Passwords, as written and decoded. */
  secrets: string[];
}

export interface DatabaseHost {
  /** Name, address, or the absolute path of the folder of a socket. */
  host: string;
  port: number;
}

/** TLS of a connection; paths are as written. */
export interface DatabaseTls {
  /** Check of the server's certificate: its authority (`ca`), and also its host name (`full`). */
  verify: 'none' | 'ca' | 'full';
  /** File of trusted authorities; absent for the public ones and those of this machine. */
  ca: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  passphrase: string | undefined;
  /** Begins with TLS, without the question that Postgres expects before version 17. */
  direct: boolean;
  /** Binds the authentication to the certificate, where the server offers it. */
  bindsChannel: boolean;
}

export class DatabaseUrlError extends Error {
  /** Advice to the operator: a sentence. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = 'DatabaseUrlError';
    this.hint = hint;
  }
}

const supported = words(
  'host port user password dbname sslmode ssl sslrootcert sslcert sslkey sslpassword sslnegotiation channel_binding target_session_attrs connect_timeout options application_name',
);
/** Parameters that Offpeak sets itself or does not need. */
const ignored = words(
  'uselibpqcompat client_encoding fallback_application_name gssencmode keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout',
);

/** @throws DatabaseUrlError if `text` is not a Postgres URL that Offpeak can use */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const [, before, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/is.exec(text) ?? [];
  if (before === undefined)
    throw new DatabaseUrlError(
      'must be sqlite or a postgres:// URL',
      'Write sqlite, or postgres://user@host/name.',
    );
  const at = before.lastIndexOf('@');
  const [user = '', ...afterUser] = before.slice(0, Math.max(at, 0)).split(':');
  const written = afterUser.join(':');
  const parameters = readParameters(query);
  const hosts = readHosts(before.slice(at + 1), parameters);
  requireWritable(parameters.target_session_attrs);
  const password = parameters.password ?? decode(written);
  const database = presence(parameters.dbname ?? decode(path));
  return {
    hosts: hosts.map(({ host, port }) => ({ host, port: port ?? 5432 })),
    user: presence(parameters.user ?? decode(user)),
    password: presence(password),
    database,
    tls: readTls(parameters),
    connectMs: readSeconds(parameters.connect_timeout),
    options: parameters.options,
    applicationName: parameters.application_name,
    name: `${hosts.map(show).join(',')}/${database ?? ''}`,
    secrets: [written, password, parameters.sslpassword ?? ''].filter(Boolean),
  };
}

type Parameters = Partial<Record<(typeof supported)[number], string>>;

function readParameters(query: string): Parameters {
  const found: Record<string, string> = {};
  for (const pair of query.split('&').filter(Boolean)) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair)!.map(decode);
    if ((ignored as readonly string[]).includes(name)) continue;
    if (!(supported as readonly string[]).includes(name))
      throw new DatabaseUrlError(`has the unknown parameter ${name}`, `Known are ${supported.join(', ')}.`);
    if (value !== '') found[name] = value;
  }
  return found;
}

interface WrittenHost {
  host: string;
  port: number | undefined;
}

function readHosts(authority: string, { host, port }: Parameters): WrittenHost[] {
  const written = authority.split(',').map(readHost);
  const ports = port?.split(',').map(readPort) ?? [];
  const hosts =
    host === undefined ? written : host.split(',').map((name) => ({ host: name, port: undefined }));
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new DatabaseUrlError(
      `has ${hosts.length} hosts and ${ports.length} ports`,
      'Write one port for all hosts, or one for each.',
    );
  return hosts.map((each, n) => ({
    host: each.host === '' ? 'localhost' : each.host,
    port: ports[n] ?? ports[0] ?? each.port,
  }));
}

/** `name`, `name:port`, `[address]:port`, or a percent-encoded path. */
function readHost(text: string): WrittenHost {
  const [, address, name, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text) ?? [];
  if (address === undefined && name === undefined)
    throw new DatabaseUrlError(
      'names a host that cannot be read',
      'Write host, host:port or [IPv6 address]:port, and encode : and @ in a password as %3A and %40.',
    );
  return {
    host: address ?? decode(name!),
    port: port === undefined || port === '' ? undefined : readPort(port),
  };
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new DatabaseUrlError(
      'has a port that is not a number from 1 to 65535',
      'Postgres usually has 5432.',
    );
  return port;
}

function requireWritable(wanted: string | undefined): void {
  if (wanted === undefined || ['any', 'read-write', 'primary'].includes(wanted)) return;
  throw new DatabaseUrlError(
    `has target_session_attrs=${wanted}, but Offpeak writes to its database`,
    'Write target_session_attrs=read-write, which is also the default.',
  );
}

function readTls(parameters: Parameters): DatabaseTls | undefined {
  const { sslmode, ssl, sslrootcert, sslcert, sslkey, sslpassword, sslnegotiation, channel_binding } =
    parameters;
  const isMentioned = [sslrootcert, sslcert, sslkey, sslnegotiation].some((value) => value !== undefined);
  const implied = ssl === 'true' || ssl === '1' ? 'require' : isMentioned ? 'verify-full' : 'disable';
  const mode = sslmode ?? implied;
  if (mode === 'disable') return undefined;
  const ca = sslrootcert === 'system' ? undefined : sslrootcert;
  return {
    verify: verification(mode, sslrootcert),
    ca,
    cert: sslcert,
    key: sslkey,
    passphrase: sslpassword,
    direct: sslnegotiation === 'direct',
    bindsChannel: channel_binding !== undefined && channel_binding !== 'disable',
  };
}

function verification(mode: string, root: string | undefined): DatabaseTls['verify'] {
  if (mode === 'verify-full' || (root === 'system' && mode === 'require')) return 'full';
  if (mode === 'verify-ca' && (root === undefined || root === 'system'))
    throw new DatabaseUrlError(
      'has sslmode=verify-ca without a file of sslrootcert',
      'Add sslrootcert=/path/to/ca.pem, or write sslmode=verify-full.',
    );
  if (mode === 'verify-ca') return 'ca';
  // As in libpq.
  if (mode === 'require') return root === undefined ? 'none' : 'ca';
  if (mode === 'no-verify') return 'none';
  throw new DatabaseUrlError(
    `has sslmode=${mode}, which Offpeak does not support`,
    'Write disable, require, verify-ca or verify-full.',
  );
}

function readSeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 0)
    throw new DatabaseUrlError(
      'has a connect_timeout that is not in whole seconds',
      'For example connect_timeout=5.',
    );
  return seconds === 0 ? undefined : seconds * 1_000;
}

function show({ host, port }: WrittenHost): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === undefined ? name : `${name}:${port}`;
}

/** Decodes percent escapes, and leaves text with invalid ones as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
