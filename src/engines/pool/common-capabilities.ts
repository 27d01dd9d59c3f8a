import type { ApiFormat, Capabilities, Engine, FormatSupport } from '../engines.ts';

export interface CapableServer {
  engine: Pick<Engine, 'capabilities'>;
  /** True while the server's capabilities are unknown and it gets no requests. */
  isUnknown: boolean;
}

/** Getter of the capabilities common to all known `servers` (which may change), cached because every request reads them. */
export function commonCapabilities(servers: readonly CapableServer[]): () => Capabilities {
  let before: readonly (Capabilities | null)[] = [];
  let common: Capabilities;
  const current = ({ engine, isUnknown }: CapableServer) => (isUnknown ? null : engine.capabilities);
  const isUnchanged = () =>
    before.length === servers.length && servers.every((server, at) => current(server) === before[at]);
  return () => {
    if (servers.length === 1) return servers[0]!.engine.capabilities;
    if (!isUnchanged()) {
      before = servers.map(current);
      const known = before.filter((each) => each !== null);
      common = commonOf(known.length > 0 ? known : servers.map(({ engine }) => engine.capabilities));
    }
    return common;
  };
}

function commonOf(all: readonly Capabilities[]): Capabilities {
  const [first] = all as [Capabilities];
  const each = <K extends keyof Capabilities>(key: K) => all.map((one) => one[key]);
  const lengths = each('contextLength').filter((length) => length !== null);
  return {
    serves: first.serves.filter((one) => all.every(({ serves }) => serves.includes(one))),
    inputs: first.inputs.filter((one) => all.every(({ inputs }) => inputs.includes(one))),
    tools: !each('tools').includes(false),
    customTools: !each('customTools').some((one) => one !== true),
    contextLength: lengths.length > 0 ? Math.min(...lengths) : null,
    jsonSchema: sameOf(each('jsonSchema')) ?? (each('jsonSchema').includes('none') ? 'none' : 'native'),
    forcedTool: sameOf(each('forcedTool')) ?? forcedByAll(each('forcedTool')),
    prefixCache: sameOf(each('prefixCache')) ?? 'none',
    formats: {
      messages: supportOf('messages', 'via chat'),
      responses: supportOf('responses', 'via chat'),
      completions: supportOf('completions', 'no'),
    },
  };

  function supportOf(format: ApiFormat, otherwise: FormatSupport): FormatSupport {
    return sameOf(all.map(({ formats }) => formats?.[format] ?? otherwise)) ?? otherwise;
  }
}

/** Common level of servers that differ: all that force tools support `required`, hence `filter`. */
function forcedByAll(all: readonly Capabilities['forcedTool'][]): Capabilities['forcedTool'] {
  if (all.includes('none')) return 'none';
  return all.includes('strict') || all.includes('filter') ? 'filter' : 'native';
}

/** The common value; undefined where they differ. */
function sameOf<T>(all: readonly T[]): T | undefined {
  return all.every((one) => one === all[0]) ? all[0] : undefined;
}
