import type { BetaToolUnion } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { Responses } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import { serveTranslated } from './support/serve-translated.ts';

// Translation of every tool type that the official clients know.

const servers = serveTranslated();

const namesSent = () => {
  const { tools = [] } = JSON.parse(servers.upstream.received.at(-1)!.text) as {
    tools?: { function: { name: string } }[];
  };
  return tools.map((tool) => tool.function.name);
};

/**
 * For each type, the tool and the names that reach the model; none for a server-side tool, as listed in
 * docs/responses.md.
 */
const ofResponses: Record<Responses.Tool['type'], [tool: object, names: string[]]> = {
  function: [{ name: 'f', parameters: { type: 'object' } }, ['f']],
  custom: [{ name: 'c' }, ['c']],
  namespace: [{ name: 'n', description: '', tools: [{ type: 'function', name: 'f' }] }, ['n__f']],
  local_shell: [{}, ['local_shell']],
  shell: [{ environment: { type: 'local' } }, ['shell']],
  apply_patch: [{}, ['apply_patch']],
  tool_search: [{ execution: 'client' }, ['tool_search']],
  file_search: [{ vector_store_ids: [] }, []],
  computer: [{}, []],
  computer_use_preview: [{ display_width: 1, display_height: 1, environment: 'linux' }, []],
  web_search: [{}, []],
  web_search_2025_08_26: [{}, []],
  web_search_preview: [{}, []],
  web_search_preview_2025_03_11: [{}, []],
  mcp: [{ server_label: 's' }, []],
  code_interpreter: [{ container: 'c' }, []],
  programmatic_tool_calling: [{}, []],
  image_generation: [{}, []],
};

type ToolType = NonNullable<Exclude<BetaToolUnion['type'], 'custom' | null>>;

/** The same for messages; toolsets reach the model without their names. */
const ofMessages: Record<ToolType, [tool: object, names: string[]]> = {
  bash_20241022: [{ name: 'bash' }, ['bash']],
  bash_20250124: [{ name: 'bash' }, ['bash']],
  memory_20250818: [{ name: 'memory' }, ['memory']],
  computer_20241022: [{ name: 'computer' }, ['computer']],
  computer_20250124: [{ name: 'computer' }, ['computer']],
  computer_20251124: [{ name: 'computer' }, ['computer']],
  text_editor_20241022: [{ name: 'str_replace_editor' }, ['str_replace_editor']],
  text_editor_20250124: [{ name: 'str_replace_editor' }, ['str_replace_editor']],
  text_editor_20250429: [{ name: 'str_replace_based_edit_tool' }, ['str_replace_based_edit_tool']],
  text_editor_20250728: [{ name: 'str_replace_based_edit_tool' }, ['str_replace_based_edit_tool']],
  code_execution_20250522: [{ name: 'code_execution' }, []],
  code_execution_20250825: [{ name: 'code_execution' }, []],
  code_execution_20260120: [{ name: 'code_execution' }, []],
  code_execution_20260521: [{ name: 'code_execution' }, []],
  browser_toolset_20260801: [{}, []],
  computer_toolset_20260801: [{}, []],
  web_search_20250305: [{ name: 'web_search' }, []],
  web_search_20260209: [{ name: 'web_search' }, []],
  web_search_20260318: [{ name: 'web_search' }, []],
  web_fetch_20250910: [{ name: 'web_fetch' }, []],
  web_fetch_20260209: [{ name: 'web_fetch' }, []],
  web_fetch_20260309: [{ name: 'web_fetch' }, []],
  web_fetch_20260318: [{ name: 'web_fetch' }, []],
  advisor_20260301: [{ name: 'advisor' }, []],
  tool_search_tool_bm25: [{ name: 'tool_search_tool_bm25' }, []],
  tool_search_tool_bm25_20251119: [{ name: 'tool_search_tool_bm25' }, []],
  tool_search_tool_regex: [{ name: 'tool_search_tool_regex' }, []],
  tool_search_tool_regex_20251119: [{ name: 'tool_search_tool_regex' }, []],
  mcp_toolset: [{ mcp_server_name: 's' }, []],
};

describe('a tool of a translated request', () => {
  it.each(Object.entries(ofResponses))('%s of responses', async (type, [tool, names]) => {
    const json = { model: 'tiny', store: false, input: 'hi', tools: [{ type, ...tool }] };
    const { tools } = await servers.running.api.post<{ tools: object[] }>('/v1/responses', json);
    expect(namesSent()).toEqual(names);
    // The response lists the effective tools.
    expect(tools).toHaveLength(names.length);
  });

  it.each(Object.entries(ofMessages))('%s of messages', async (type, [tool, names]) => {
    const messages = [{ role: 'user', content: 'hi' }];
    await servers.running.api.post('/v1/messages', {
      model: 'tiny',
      max_tokens: 9,
      messages,
      tools: [{ type, ...tool }],
    });
    expect(namesSent()).toEqual(names);
  });
});
