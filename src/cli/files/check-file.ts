import { createReadStream } from 'node:fs';
import { batchEndpoints } from '../../core/batch.ts';
import type { Fault } from '../../core/errors.ts';
import { createLineChecker } from '../../wire/batch/line.ts';
import { type SplitItem, Splitter } from '../../wire/batch/split.ts';

/** Sizes that a file may have; without `bytes` and `requests` it may have any, as for `batch run`. */
export interface FileLimits {
  bytes?: number | undefined;
  requests?: number | undefined;
  lineBytes: number;
}

const keptFaults = 100;

/** Applies a server's rules for input files to a local file. Models are unknown here. */
export async function checkFile(path: string, limits: FileLimits) {
  const splitter = new Splitter({ lineBytes: limits.lineBytes });
  const checker = createLineChecker({
    endpoints: batchEndpoints,
    takesFiles: true,
    refuseModel: () => undefined,
  });
  /** The first `keptFaults` of `faultCount`. */
  const faults: Fault[] = [];
  /** `estimatedTokens`: of the prompts, and the most that the answers may have. `badLines` have a fault. */
  const sums = { bytes: 0, requests: 0, estimatedTokens: 0, faultCount: 0, badLines: 0 };
  const add = (found: Fault[]) => {
    sums.faultCount += found.length;
    faults.push(...found.slice(0, keptFaults - faults.length));
  };
  const take = (items: Iterable<SplitItem>) => {
    for (const item of items) {
      if (item.fault !== undefined) {
        add([item.fault]);
        sums.badLines++;
        continue;
      }
      sums.requests++;
      const verdict = checker.check(item.line.bytes, item.line.number);
      if (verdict.ok) {
        sums.estimatedTokens += verdict.est;
        continue;
      }
      add(verdict.faults);
      sums.badLines++;
    }
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    sums.bytes += chunk.length;
    take(splitter.push(chunk));
  }
  take(splitter.end());
  add(wholeFaults(sums, limits));
  const valid = sums.faultCount === 0;
  const { endpoint = null, namesFiles, namesImageUrls } = checker;
  return { valid, ...sums, endpoint, namesFiles, namesImageUrls, faults };
}

function wholeFaults(
  sums: { bytes: number; requests: number; faultCount: number },
  limits: FileLimits,
): Fault[] {
  const faults: Fault[] = [];
  if (sums.requests === 0 && sums.faultCount === 0)
    faults.push({ code: 'empty_file', message: 'there is no request in it' });
  const { bytes = Infinity, requests = Infinity } = limits;
  if (sums.bytes > bytes)
    faults.push({
      code: 'payload_too_large',
      message: `${sums.bytes} bytes are more than --max-bytes ${bytes}`,
    });
  if (sums.requests > requests)
    faults.push({
      code: 'too_many_tasks',
      message: `${sums.requests} requests are more than --max-requests ${requests}`,
    });
  return faults;
}
