import { createSocket, type RemoteInfo } from 'node:dgram';
import { isIP } from 'node:net';
import { until } from './until.ts';

export interface NameServer {
  /** Address for `Resolver.setServers`. */
  address: string;
  /** Queries such as `A example.com`, oldest first. */
  queries: string[];
  /** Resolves when `count` queries have arrived. */
  waitFor(count: number): Promise<string[]>;
  /** Answers the pending queries with NXDOMAIN. */
  release(): void;
  close(): void;
}

/** Starts a DNS server on loopback. It leaves queries for names that end in `.silent.test` pending. */
export async function startNameServer(hosts: Record<string, string[]> = {}): Promise<NameServer> {
  const socket = createSocket('udp4');
  const unanswered: [Buffer, RemoteInfo][] = [];
  const queries: string[] = [];
  socket.on('message', (query, from) => {
    const { name, type } = questionOf(query);
    queries.push(`${type === 1 ? 'A' : 'AAAA'} ${name}`);
    if (name.endsWith('.silent.test')) return void unanswered.push([query, from]);
    const family = type === 1 ? 4 : 6;
    const found = hosts[name]?.filter((address) => isIP(address) === family);
    socket.send(answerTo(query, found), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    waitFor: (count) => until(`${count} queries`, () => queries.length >= count && queries),
    release() {
      for (const [query, { port, address }] of unanswered.splice(0))
        socket.send(answerTo(query, undefined), port, address);
    },
    close: () => void socket.close(),
  };
}

const headerBytes = 12;

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let size = query[at]!; size > 0; size = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** @param addresses undefined for NXDOMAIN */
function answerTo(query: Buffer, addresses: string[] | undefined): Buffer {
  const { type, end } = questionOf(query);
  const header = Buffer.alloc(headerBytes);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(addresses ? 0x8180 : 0x8183, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses?.length ?? 0, 6);
  const records = (addresses ?? []).map((address) => {
    const bytes = type === 1 ? address.split('.').map(Number) : sixBytes(address);
    // Pointer to the name of the question; class IN, TTL 60 seconds.
    return Buffer.from([0xc0, headerBytes, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]);
  });
  return Buffer.concat([header, query.subarray(headerBytes, end), ...records]);
}

/** Returns the bytes of an IPv6 address with at most one `::`. */
function sixBytes(address: string): number[] {
  const [head = [], tail = []] = address
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 255];
  });
}
