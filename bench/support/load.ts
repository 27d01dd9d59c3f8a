import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo, requestBytes } from './connection.ts';
import type { Connection, RequestSpec } from './connection.ts';

export interface Load extends RequestSpec {
  /** What a good answer holds; a stream that broke off is a 200 as well. */
  holds: string;
}

export interface ClosedLoop {
  port: number;
  connections: number;
  /** Requests in all. */
  requests: number;
}

/**
 * A closed loop: each connection sends its next request when the last was answered.
 * @returns seconds
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
  /** Requests in all. */
  requests: number;
}

/**
 * An open loop: requests leave at their time, however long others take, each over a free connection or a new one.
 * @returns the milliseconds that each took, from its sending
 */
export async function latencies(load: Load, { port, perSecond, requests }: OpenLoop): Promise<number[]> {
  const request = requestBytes(load);
  const free: Connection[] = [];
  const asked: Promise<number>[] = [];

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
  while (asked.length < requests) {
    const due = 1 + Math.floor(((performance.now() - began) * perSecond) / 1000);
    while (asked.length < Math.min(due, requests)) asked.push(markHandled(ask()));
    await sleep(1);
  }
  const took = await Promise.all(asked);
  for (const connection of free) connection.close();
  return took;
}

/** A failure is raised by whoever waits for all of them, later. */
function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function requireGood(answer: string, { holds }: Load): void {
  if (!answer.startsWith('HTTP/1.1 200') || !answer.includes(holds))
    throw new Error(`an answer without ${holds}: ${answer.slice(-1000)}`);
}
