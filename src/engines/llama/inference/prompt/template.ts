import type { Tool } from '../../../../wire/chat/chat.ts';
import {
  withAlternatingTurns,
  withDescribedTools,
  withOneCallATurn,
  withOneSystem,
  withShortCallIds,
  withSystem,
  withoutSystem,
  withoutToolTurns,
} from './conversation.ts';
import type { Family } from '../families.ts';
import { type TemplateMessage, toTemplateTools } from './messages.ts';
import { pythonTemplate } from './python-template.ts';

/** Template of models without one. */
const plainTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** Probes the features of a template. Returns its renderer, which throws the template's first error if every form fails. */
export function createChatTemplate(given: string | undefined, family: Family) {
  const source = given || plainTemplate;
  const compiled = pythonTemplate(source);
  const user = { role: 'user', content: 'x' };
  const knowsSystem = shows([{ role: 'system', content: marker }, user], {});
  const toolsGo = placeOfTools();

  function run(messages: readonly TemplateMessage[], variables: Record<string, unknown>): string {
    return compiled.render({ ...variables, messages, add_generation_prompt: true });
  }

  function shows(messages: TemplateMessage[], variables: Record<string, unknown>): boolean {
    try {
      return run(messages, { bos_token: '', eos_token: '', ...variables }).includes(marker);
    } catch {
      return false;
    }
  }

  /** Place of the tools: most templates read a variable, some the system message. */
  function placeOfTools(): 'variable' | 'system' | 'nowhere' {
    if (!/\btools\b/.test(source)) return 'nowhere';
    const tools = toTemplateTools([{ type: 'function', function: { name: marker, description: '' } }]);
    if (shows([user], { tools })) return 'variable';
    const system = { role: 'system', content: '', tools: JSON.stringify(tools) };
    return shows([system, user], {}) ? 'system' : 'nowhere';
  }

  /** Templates reject conversations that their models were not trained on; most have an equivalent form. */
  function runAnyForm(turns: TemplateMessage[], variables: Record<string, unknown>): string {
    const forms = [
      turns,
      withOneSystem(turns),
      withOneCallATurn(turns),
      withAlternatingTurns(withOneSystem(turns)),
      withAlternatingTurns(withoutToolTurns(withOneSystem(turns))),
    ];
    let first: unknown;
    for (const form of forms) {
      try {
        return run(form, variables);
      } catch (error) {
        first ??= error;
      }
    }
    throw first;
  }

  /** @param tools tools that the answer may call */
  return (messages: TemplateMessage[], tools: readonly Tool[], variables: Record<string, unknown>) => {
    let turns = family.hasShortCallIds ? withShortCallIds(messages) : messages;
    // Some of these templates reject a second call, others drop it.
    if (!family.calls.isRepeatable) turns = withOneCallATurn(turns);
    const all = { ...variables };
    if (tools.length > 0 && toolsGo === 'variable') all.tools = tools;
    if (tools.length > 0 && toolsGo === 'system')
      turns = withSystem(turns, (system) => ({ ...system, tools: JSON.stringify(tools) }));
    if (tools.length > 0 && toolsGo === 'nowhere') turns = withDescribedTools(turns, tools);
    if (!source.includes('tool_calls')) turns = withoutToolTurns(turns);
    if (!knowsSystem) turns = withoutSystem(turns);
    return runAnyForm(turns, all);
  };
}

/** Text that no template contains. */
const marker = 'offpeak_probe';
