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

/** For models without a template of their own. */
const plainTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * Finds out what a template can, and gives what renders it. That throws the template's own error when it refuses the
 * conversation in every form.
 */
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

  /** Where the template looks for tools: most in a variable, some in the system message, some nowhere. */
  function placeOfTools(): 'variable' | 'system' | 'nowhere' {
    if (!/\btools\b/.test(source)) return 'nowhere';
    const tools = toTemplateTools([{ type: 'function', function: { name: marker, description: '' } }]);
    if (shows([user], { tools })) return 'variable';
    const system = { role: 'system', content: '', tools: JSON.stringify(tools) };
    return shows([system, user], {}) ? 'system' : 'nowhere';
  }

  /** Templates refuse what their models were not trained on; most of it can be said in another way. */
  function runSomehow(turns: TemplateMessage[], variables: Record<string, unknown>): string {
    const ways = [
      turns,
      withOneSystem(turns),
      withOneCallATurn(turns),
      withAlternatingTurns(withOneSystem(turns)),
      withAlternatingTurns(withoutToolTurns(withOneSystem(turns))),
    ];
    let first: unknown;
    for (const way of ways) {
      try {
        return run(way, variables);
      } catch (error) {
        first ??= error;
      }
    }
    throw first;
  }

  /** @param tools none where the answer may not call any */
  return (
    messages: TemplateMessage[],
    tools: readonly Tool[],
    variables: Record<string, unknown>,
  ): string => {
    let turns = family.hasShortCallIds ? withShortCallIds(messages) : messages;
    // Some of these templates refuse a second call, others forget it.
    if (!family.calls.isRepeatable) turns = withOneCallATurn(turns);
    const all = { ...variables };
    if (tools.length > 0 && toolsGo === 'variable') all.tools = tools;
    if (tools.length > 0 && toolsGo === 'system')
      turns = withSystem(turns, (system) => ({ ...system, tools: JSON.stringify(tools) }));
    if (tools.length > 0 && toolsGo === 'nowhere') turns = withDescribedTools(turns, tools);
    if (!source.includes('tool_calls')) turns = withoutToolTurns(turns);
    if (!knowsSystem) turns = withoutSystem(turns);
    return runSomehow(turns, all);
  };
}

/** No template writes this by itself. */
const marker = 'offpeak_probe';
