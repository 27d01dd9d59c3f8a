import { silent } from '../../../base/log.ts';
import type { Examination, Finding } from '../../../core/examination.ts';
import { directKinds } from '../../../core/model.ts';
import { addressOf } from '../connection/address.ts';
import { createTransport } from '../connection/transport.ts';
import { headersOf, traitsOf } from '../flavors/flavors.ts';
import { probeTimeouts } from '../probe/count-tokens.ts';
import type { UpstreamOptions } from '../upstream-options.ts';
import { createUpstreamEngine } from '../upstream.ts';
import { createAnswerExaminer } from './examine-answers.ts';
import { examineConnection, findHttps } from './examine-connection.ts';
import { examineModels } from './examine-models.ts';
import { checkLog, fault, messageOf, ok, ours } from './findings.ts';

/**
 * Examines a server with minimal requests: what it supports, what Offpeak emulates, and what is misconfigured.
 * @param how `generates`: requests may generate, which takes time and may cost money
 */
export async function examineUpstream(
  options: Omit<UpstreamOptions, 'log'>,
  { generates }: { generates: boolean },
): Promise<Examination> {
  const { url, model, clock, ca, slots } = options;
  const connectOptions = { url, ca, clock, connectMs: options.timeouts?.connectMs ?? 5000 };
  const findings: Finding[] = [];
  const result = (flavor: string, isReachable: boolean) => ({ flavor, isReachable, findings });
  const add = (finding: Finding) => {
    findings.push(finding);
    return finding.verdict !== 'fault';
  };
  if (!add(await examineConnection(connectOptions))) return result('unknown', false);

  const transport = createTransport({
    origin: addressOf(url, model).origin,
    ca,
    headers: headersOf(options),
    connections: 1,
    timeouts: { ...probeTimeouts, connectMs: connectOptions.connectMs },
    clock,
  });
  let flavor: string = options.flavor ?? 'generic';
  try {
    const begun = clock.monotonic();
    const models = await examineModels({
      url,
      model,
      hasKey: Boolean(options.apiKey),
      failures: traitsOf(options).failures,
      transport,
      elapsed: () => clock.monotonic() - begun,
    });
    if (flavor === 'auto') flavor = models.flavor;
    if (!add(models.finding)) {
      const https = models.finding.key === undefined ? await findHttps(connectOptions) : null;
      if (https) findings.splice(0, findings.length, https);
      return result(flavor, https === null);
    }
  } catch (error) {
    const https = await findHttps(connectOptions);
    if (https) findings.splice(0, findings.length, https);
    else add(fault('models', { summary: messageOf(error), advice: checkLog }));
    return result(flavor, false);
  } finally {
    await transport.close();
  }

  /** Messages of the upstream that only the log shows. */
  const upstreamMessages: string[] = [];
  const warn = (fields: object) => {
    if ('said' in fields && typeof fields.said === 'string' && fields.said !== '')
      upstreamMessages.push(fields.said);
  };
  const engine = createUpstreamEngine({ ...options, log: { ...silent, warn } });
  try {
    await engine.start();
    add(await examineSlots());
    if (!generates) return result(flavor, true);
    const hasServes = options.serves !== undefined;
    const examiner = createAnswerExaminer(engine, model, clock, hasServes, upstreamMessages);
    const { serves } = engine.capabilities;
    if (serves.includes('chat') && add(await examiner.chat())) findings.push(...(await examiner.details()));
    for (const kind of directKinds) if (serves.includes(kind)) add(await examiner.direct(kind));
  } finally {
    await engine.stop();
  }
  return result(flavor, true);

  async function examineSlots(): Promise<Finding> {
    if (slots !== null) return ok('slots', `${slots}, as configured`);
    const reported = (await engine.probe().catch(() => null))?.slots ?? null;
    if (reported !== null) return ok('slots', `${reported}, as reported`);
    return ours('slots', 'not reported; discovered under load');
  }
}
