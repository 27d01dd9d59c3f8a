import type { Timer } from '../../../base/clock.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { DirectKind } from '../../../core/model.ts';
import type { Members } from '../../../wire/json/pick-members.ts';
import type { Capabilities, ProbeReport, EngineCall } from '../../engines.ts';
import type { ReadOptions } from '../answer/chat-response.ts';
import { usageReader } from '../answer/usage.ts';
import type { Address } from '../connection/address.ts';
import type { Reply } from '../connection/replies.ts';
import { errorForStatus, type RefusalContext } from '../connection/status-errors.ts';
import { flavorOf, hasModel } from '../flavors/find-flavor.ts';
import { traitsOf } from '../flavors/flavors.ts';
import type { FlavorTraits } from '../flavors/traits.ts';
import { type Dialect, dialects } from '../request/dialects.ts';
import { chatMembers, completionsMembers } from '../request/request-members.ts';
import type { RequestProfile } from '../request/request-text.ts';
import { cacheSaltOf } from '../request/cache-salt.ts';
import type { UpstreamOptions } from '../upstream-options.ts';
import { createTokenCounter } from './count-tokens.ts';
import { fetchReport } from './reports.ts';

/** Knowledge about a server, from its flavor and its own report. */
export interface ServerProfile {
  traits: FlavorTraits;
  dialect: Dialect;
  request: RequestProfile;
  /** The same with the salt of the org of a call, where the server takes one. */
  requestFor: (call: Pick<EngineCall, 'org'>) => RequestProfile;
  capabilities: Capabilities;
  /** Paths below the base of the URL. */
  chatPath: string;
  directPaths: Readonly<Record<DirectKind, string>>;
  /** Members of requests for raw completions that are passed on. */
  completionsMembers: Members;
  /** Reading of its answers. */
  reading: Pick<ReadOptions, 'usageOf' | 'finishes' | 'cutsAt'>;
}

export type Prober = ReturnType<typeof createProber>;

export interface ProberDeps {
  options: UpstreamOptions;
  address: Address;
  get: (path: string) => Promise<Reply<Buffer>>;
  post: (path: string, body: unknown) => Promise<Reply<Buffer>>;
  isOpen: () => boolean;
  context: () => RefusalContext;
}

const retryMs = 30_000;

/** Keeps the profile of a server: detects its flavor and probes its status. */
export function createProber({ options, address, get, post, isOpen, context }: ProberDeps) {
  const { model, clock, log, passThrough = [] } = options;
  const modelsPath = address.path('/models');
  let isDetected = options.flavor !== 'auto';
  /** Reply that showed the flavor; the first probe uses it again. */
  let detectionReply: Reply<Buffer> | null = null;
  let retry: Timer | undefined;
  let report: ProbeReport = { slots: null, queued: null };
  let profile = profileFor(traitsOf(options));

  function profileFor(traits: FlavorTraits): ServerProfile {
    const { paths, truncatesPrompts, completions } = traits;
    const secret = traits.cacheSalt && options.cacheSalt;
    const dialect = dialects[traits.dialect ?? 'chat'];
    // A configured path for embeddings shows that the server has some.
    const hasEmbeddings = !traits.noEmbeddings || paths?.embeddings !== undefined;
    const capabilities: Capabilities = {
      isGuess: !isDetected,
      serves: options.serves ?? (hasEmbeddings ? ['chat', 'embeddings'] : ['chat']),
      inputs: options.inputs ?? report.inputs ?? traits.inputs,
      tools: report.tools ?? true,
      customTools: traits.customTools?.test(model) ?? false,
      contextLength: options.contextLength ?? report.contextLength ?? null,
      jsonSchema: traits.jsonSchema,
      forcedTool: traits.forcedTool,
      prefixCache: traits.prefixCache,
      ...options.capabilities,
      ...(traits.dialect && { customTools: false }),
      formats: {
        ...traits.formats,
        // Messages take no salt.
        ...(report.hasMessages && secret === undefined && { messages: 'for stops' }),
        completions: completions ? 'native' : 'no',
        ...options.capabilities?.formats,
      },
    };
    const { customTools = false } = capabilities;
    const members = chatMembers(traits, passThrough);
    const request = { model, traits, customTools, report, members, passThrough };
    return {
      traits,
      dialect,
      capabilities,
      request,
      requestFor: ({ org }) =>
        secret === undefined || org === undefined ? request : { ...request, salt: cacheSaltOf(secret, org) },
      completionsMembers: completionsMembers(traits, passThrough),
      chatPath: paths?.chat ?? dialect.path,
      directPaths: {
        embeddings: paths?.embeddings ?? '/embeddings',
        rerank: paths?.rerank ?? '/rerank',
        score: paths?.score ?? '/score',
        moderations: paths?.moderations ?? '/moderations',
      },
      reading: {
        usageOf: usageReader(traits.usage),
        finishes: traits.finish,
        cutsAt: truncatesPrompts ? (report.contextLength ?? options.contextLength) : null,
      },
    };
  }

  /** Detects the flavor, unless it is configured. An unreachable server counts as `generic` and is retried later. */
  async function detectFlavor(): Promise<void> {
    if (isDetected || !isOpen()) return;
    retry?.cancel();
    try {
      const reply = await get(modelsPath);
      const { status, body } = reply;
      if (status >= 500 || status === 429) throw new Error(`status ${status}`);
      const flavor = status === 200 ? flavorOf(fieldsOf(JSON.parse(body.toString())), model) : 'generic';
      isDetected = true;
      profile = profileFor(traitsOf({ ...options, flavor }));
      detectionReply = reply;
      log.info(
        { upstream: address.host, upstream_model: model, flavor },
        'detected the flavor of the upstream',
      );
    } catch {
      if (isOpen()) retry = clock.after(retryMs, () => void detectFlavor());
    }
  }

  return {
    /** Current profile: the same object until a probe changes it. */
    get profile() {
      return profile;
    },
    countTokens: createTokenCounter(
      () => profile.traits.tokenCounters,
      (path, body) => post(address.rootPath(path), body),
    ),
    detectFlavor,

    /** Updates the profile with the server's report. @throws ApiError as `Engine.probe` */
    async probe(): Promise<ProbeReport> {
      await detectFlavor();
      const detected = detectionReply;
      detectionReply = null;
      const { report: source, listsAll = false } = profile.traits;
      report = await fetchReport[source]({
        model,
        listsAll,
        address,
        get: async (path) => (detected && path === modelsPath ? detected : get(path)),
        post,
        refusal: (reply) => errorForStatus({ ...reply, text: reply.body.toString() }, context()),
      });
      profile = profileFor(profile.traits);
      return report;
    },

    /** Resolves true where the server works and lists the model, so that a missing endpoint concerns the model. */
    listsModel: () =>
      repliesWith(
        () => get(modelsPath),
        (fields) => hasModel(fields, model),
      ),
    /** Resolves true where the server embeds with the model; false also where it is unreachable. */
    makesEmbeddings: () =>
      repliesWith(
        () => post(address.path(profile.directPaths.embeddings), { model, input: 'a' }),
        ({ data }) => Array.isArray(data) && Array.isArray(fieldsOf(data[0])['embedding']),
      ),
    stop: () => retry?.cancel(),
  };
}

async function repliesWith(request: () => Promise<Reply<Buffer>>, isMatch: (fields: Fields) => boolean) {
  try {
    const { status, body } = await request();
    return status === 200 && isMatch(fieldsOf(JSON.parse(body.toString())));
  } catch {
    return false;
  }
}
