import { closeSync, openSync, readSync } from 'node:fs';
import type { Client } from '../../../client/client.ts';
import type { RemoteEstimate } from '../../../client/resources.ts';
import { formatDollars, parseDollars } from '../../../core/price.ts';
import { isoTime } from '../../shared/format.ts';
import { printResult } from '../../shared/commands.ts';
import type { Cli } from '../../shared/cli.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { showEstimate } from '../show-batch.ts';
import type { InputFile, InputPart } from './read-input.ts';
import type { BatchOptions } from './run-input.ts';

/** Batches that are estimated; the rest of a larger input is extrapolated. */
const maxParts = 10;

/** Prints an estimate of a run. Nothing is stored. */
export async function showInputEstimate(
  cli: Cli,
  client: Client,
  input: InputFile,
  { json, endpoint = input.endpoint }: BatchOptions,
): Promise<void> {
  if (input.requests === 0) throw new CliError('There is nothing to ask: the cache has all answers.');
  const estimate = await estimateInput(client, input, { endpoint, now: cli.clock.now() });
  printResult(cli, { json }, estimate, showEstimate);
}

async function estimateInput(
  client: Client,
  input: InputFile,
  { endpoint, now }: { endpoint: string; now: number },
): Promise<RemoteEstimate> {
  const { parts } = input;
  const step = Math.max(1, parts.length / maxParts);
  const chosen = parts.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  const estimates: RemoteEstimate[] = [];
  for (const part of chosen)
    estimates.push(await client.batches.dryRun(endpoint, readRequests(input.path, part)));
  return extrapolate(estimates, input.requests, now);
}

const newline = 0x0a;
const comma = 0x2c;

/** Lines of a part as the items of a JSON array. */
function readRequests(path: string, { offset, bytes }: InputPart): Uint8Array {
  const lines = Buffer.allocUnsafeSlow(bytes);
  const file = openSync(path, 'r');
  try {
    for (let done = 0; done < bytes;) done += readSync(file, lines, done, bytes - done, offset + done);
  } finally {
    closeSync(file);
  }
  const end = lines.at(-1) === newline ? bytes - 1 : bytes;
  for (let at = lines.indexOf(newline); at >= 0 && at < end; at = lines.indexOf(newline, at + 1))
    lines[at] = comma;
  return lines.subarray(0, end);
}

/** Sum of estimates, extended to `requests` requests. */
function extrapolate(estimates: readonly RemoteEstimate[], requests: number, now: number): RemoteEstimate {
  const [first] = estimates as [RemoteEstimate];
  const known = estimates.reduce((sum, { request_counts: counts }) => sum + counts.total, 0);
  const scale = (value: number) => Math.round((value * requests) / known);
  const tokens = (name: 'input_tokens' | 'output_tokens' | 'total_tokens') =>
    scale(estimates.reduce((sum, { usage }) => sum + usage[name], 0));
  const usage = {
    ...first.usage,
    input_tokens: tokens('input_tokens'),
    output_tokens: tokens('output_tokens'),
    total_tokens: tokens('total_tokens'),
  };
  return {
    ...first,
    request_counts: { ...first.request_counts, total: requests },
    usage,
    exact_input: known === requests && estimates.every(({ exact_input: isExact }) => isExact),
    cost: scaleCost(estimates, requests, known),
    ...(first.forecast && {
      forecast: forecastOf(first, first.forecast, { tokens: usage.total_tokens, now }),
    }),
    quota: estimates.find(({ quota }) => !quota.fits)?.quota ?? first.quota,
  };
}

function scaleCost(
  estimates: readonly RemoteEstimate[],
  requests: number,
  known: number,
): RemoteEstimate['cost'] {
  const total = (of: 'amount' | 'list_amount') => {
    const sum = estimates.reduce((dollars, { cost }) => dollars + parseDollars(cost[of]), 0n);
    return formatDollars((sum * BigInt(requests)) / BigInt(known));
  };
  return { ...estimates[0]!.cost, amount: total('amount'), list_amount: total('list_amount') };
}

const windowMs = 86_400_000;

/** Forecast for all tokens, at the rate that the server expects for the first batch. */
function forecastOf(
  { usage }: RemoteEstimate,
  forecast: NonNullable<RemoteEstimate['forecast']>,
  { tokens, now }: { tokens: number; now: number },
): RemoteEstimate['forecast'] {
  const { eta, tokens_ahead: ahead } = forecast;
  if (eta === null) return forecast;
  const duration = Date.parse(isoTime(eta)) - now;
  const whole = (duration * (tokens + ahead)) / Math.max(1, usage.total_tokens + ahead);
  const end = new Date(now + whole).toISOString();
  return { ...forecast, eta: end, at_risk: forecast.at_risk || whole > windowMs };
}
