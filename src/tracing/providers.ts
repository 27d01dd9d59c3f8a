import type { EngineConfig, ModelConfig } from '../core/config.ts';
import type { Flavor } from '../core/flavor.ts';

/** Names of the conventions for flavors that they call otherwise; the others have their own names. */
const names: Partial<Record<Flavor, string>> = {
  azure: 'azure.ai.openai',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  'llama-server': 'llama.cpp',
};

/** Provider of a configured model, for `gen_ai.provider.name`. */
export function providerOf(models: readonly ModelConfig[], id: string): string | undefined {
  const engine = models.find((model) => model.id === id)?.engine;
  return engine && nameOf(engine);
}

function nameOf(engine: EngineConfig): string {
  if (engine.kind === 'llama') return 'llama.cpp';
  if (engine.kind === 'scripted') return engine.kind;
  // Unknown servers speak OpenAI's format.
  return engine.flavor === null ? 'openai' : (names[engine.flavor] ?? engine.flavor);
}
