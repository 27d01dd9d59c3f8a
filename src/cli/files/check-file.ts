import { createReadStream } from 'node:fs';
import { batchEndpoints } from '../../core/batch.ts';
import type { Fault } from '../../core/errors.ts';
import { createLineChecker } from '../../wire/batch/line.ts';
import { type SplitItem, Splitter } from '../../wire/batch/split.ts';

/** Size limits of a file. Without `bytes` and `requests` any size is valid, as for `batch run`. */
export interface FileLimits {
  bytes?: number | undefined;
  requests?: number | undefined;
  lineBytes: number;
  /** True if unknown fields are faults instead of warnings. */
  isStrict?: boolean;
}

const maxFaults = 100;

/** Validates a local file by the server's rules for batch input, except its models. */
export async function checkFile(path: string, limits: FileLimits) {
  const splitter = new Splitter({ lineBytes: limits.lineBytes });
  const checker = createLineChecker({
    endpoints: batchEndpoints,
    takesFiles: true,
    isStrict: limits.isStrict === true,
    refuseModel: () => undefined,
  });
  /** First `maxFaults` of `faultCount` faults. */
  const faults: Fault[] = [];
  /** `estimatedTokens`: estimated prompt tokens plus the maximum answer tokens. `badLines`: lines with a fault. */
  const sums = { bytes: 0, requests: 0, estimatedTokens: 0, faultCount: 0, badLines: 0 };
  const add = (found: Fault[]) => {
    sums.faultCount += found.length;
    faults.push(...found.slice(0, maxFaults - faults.length));
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
  const { endpoint = null, namesFiles, namesImageUrls, warnings } = checker;
  return { valid, ...sums, endpoint, namesFiles, namesImageUrls, warnings, faults };
}

function wholeFaults(sums: { bytes: number; requests: number; faultCount: number }, limits: FileLimits) {
  const faults: Fault[] = [];
  const { bytes = Infinity, requests = Infinity } = limits;
  const add = (code: Fault['code'], text: string) => faults.push({ code, message: `the file has ${text}` });
  if (sums.requests === 0 && sums.faultCount === 0) add('empty_file', 'no requests');
  if (sums.bytes > bytes) add('payload_too_large', `${sums.bytes} bytes, but --max-bytes is ${bytes}`);
  if (sums.requests > requests)
    add('too_many_tasks', `${sums.requests} requests, but --max-requests is ${requests}`);
  return faults;
}
