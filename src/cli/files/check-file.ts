import { createReadStream } from 'node:fs';
import { batchEndpoints } from '../../core/batch.ts';
import type { Fault } from '../../core/errors.ts';
import { createLineChecker } from '../../wire/batch/line.ts';
import { type SplitItem, Splitter } from '../../wire/batch/split.ts';

export interface FileLimits {
  bytes: number;
  requests: number;
  lineBytes: number;
}

const keptFaults = 100;

/** What a server with the usual limits would say to this file, without one. Models are not known here. */
export async function checkFile(path: string, limits: FileLimits) {
  const splitter = new Splitter({ lineBytes: limits.lineBytes });
  const checker = createLineChecker({
    endpoints: batchEndpoints,
    takesFiles: true,
    refuseModel: () => undefined,
  });
  /** The first `keptFaults` of `faultCount`. */
  const faults: Fault[] = [];
  /** Tokens: in and, at most, out. */
  const sums = { bytes: 0, requests: 0, estimatedTokens: 0, faultCount: 0 };
  const add = (found: Fault[]) => {
    sums.faultCount += found.length;
    faults.push(...found.slice(0, keptFaults - faults.length));
  };
  const take = (items: Iterable<SplitItem>) => {
    for (const item of items) {
      if (item.fault !== undefined) {
        add([item.fault]);
        continue;
      }
      sums.requests++;
      const verdict = checker.check(item.line.bytes, item.line.number);
      if (verdict.ok) sums.estimatedTokens += verdict.est;
      else add(verdict.faults);
    }
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    sums.bytes += chunk.length;
    take(splitter.push(chunk));
  }
  take(splitter.end());
  add(wholeFaults(sums, limits));
  const valid = sums.faultCount === 0;
  const { endpoint = null, namesFiles } = checker;
  return { valid, ...sums, endpoint, namesFiles, faults };
}

function wholeFaults(
  sums: { bytes: number; requests: number; faultCount: number },
  limits: FileLimits,
): Fault[] {
  const faults: Fault[] = [];
  if (sums.requests === 0 && sums.faultCount === 0)
    faults.push({ code: 'empty_file', message: 'there is no request in it' });
  if (sums.bytes > limits.bytes)
    faults.push({
      code: 'payload_too_large',
      message: `it has ${sums.bytes} bytes; a server takes ${limits.bytes}`,
    });
  if (sums.requests > limits.requests)
    faults.push({
      code: 'too_many_tasks',
      message: `it has ${sums.requests} requests; a batch takes ${limits.requests}`,
    });
  return faults;
}
