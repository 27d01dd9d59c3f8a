import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo, requestBytes } from './connection.ts';
import type { Connection, RequestSpec } from './connection.ts';

export interface Load extends RequestSpec {
  /** Text in a complete answer; a broken stream is a 200 as well. */
  holds: string;
}

export interface ClosedLoop {
  port: number;
  connections: number;
  requests: number;
}

/**
 * Runs a closed loop: each connection sends its next request when the last one is answered.
 * @returns seconds in total
 */
export async function runLoad(load: Load, { port, connections, requests }: ClosedLoop): Promise<number> {
  const request = requestBytes(load);
  let left = requests;
  async function loop(): Promise<void> {
    const connection = await connectTo(port);
    while (left-- > 0) requireGood(await connection.ask(request), load);
    connection.close();
  }
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, loop));
  return (performance.now() - began) / 1000;
}

export interface OpenLoop {
  port: number;
  perSecond: number;
  requests: number;
}

/**
 * Runs an open loop: requests start on schedule, however long others take, each on an idle or new connection.
 * @returns latency of each request in milliseconds
 */
export async function latencies(load: Load, { port, perSecond, requests }: OpenLoop): Promise<number[]> {
  const request = requestBytes(load);
  const free: Connection[] = [];
  const pending: Promise<number>[] = [];

  async function ask(): Promise<number> {
    const connection = free.shift() ?? (await connectTo(port));
    const sent = performance.now();
    const answer = await connection.ask(request);
    const took = performance.now() - sent;
    requireGood(answer, load);
    free.push(connection);
    return took;
  }

  const began = performance.now();
  while (pending.length < requests) {
    const due = 1 + Math.floor(((performance.now() - began) * perSecond) / 1000);
    while (pending.length < Math.min(due, requests)) pending.push(markHandled(ask()));
    await sleep(1);
  }
  const took = await Promise.all(pending);
  for (const connection of free) connection.close();
  return took;
}

/** Prevents an unhandled rejection; the error surfaces in `Promise.all` later. */
function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function requireGood(answer: string, { holds }: Load): void {
  if (!answer.startsWith('HTTP/1.1 200') || !answer.includes(holds))
    throw new Error(`an answer without ${holds}: ${answer.slice(-1000)}`);
}
