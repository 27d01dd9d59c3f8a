import { expect, it } from 'vitest';
import { betasOf } from './anthropic-betas.ts';

const everything = () => true;
const tool = (type: string, more = {}) => ({ tools: [{ type, name: 'x', ...more }] });

it.each<[object, string[]]>([
  [tool('computer_20241022'), ['computer-use-2024-10-22']],
  [tool('bash_20241022'), ['computer-use-2024-10-22']],
  [tool('text_editor_20241022'), ['computer-use-2024-10-22']],
  [tool('computer_20250124'), ['computer-use-2025-01-24']],
  [tool('computer_20251124'), ['computer-use-2025-11-24']],
  [tool('memory_20250818'), ['context-management-2025-06-27']],
  [tool('code_execution_20250522'), ['code-execution-2025-05-22']],
  [tool('code_execution_20250825'), ['code-execution-2025-08-25']],
  [tool('web_fetch_20250910'), ['web-fetch-2025-09-10']],
  [tool('tool_search_tool_regex_20251119'), ['advanced-tool-use-2025-11-20']],
  [tool('advisor_20260301'), ['advisor-tool-2026-03-01']],
  [tool('custom', { defer_loading: true }), ['advanced-tool-use-2025-11-20']],
  [tool('custom', { defer_loading: false }), []],
  [tool('bash_20250124'), []],
  [tool('text_editor_20250728'), []],
  [tool('web_search_20250305'), []],
  [{ tools: [{ name: 'f', input_schema: {} }] }, []],
  [{ tools: null }, []],
  [
    { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
    ['context-management-2025-06-27'],
  ],
  [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, ['compact-2026-01-12']],
  [{ mcp_servers: [{ type: 'url' }] }, ['mcp-client-2025-04-04']],
  [{ mcp_servers: [], ...tool('mcp_toolset') }, ['mcp-client-2025-11-20']],
  [{ container: { skills: [] } }, ['skills-2025-10-02', 'code-execution-2025-08-25']],
  [{ container: 'c_1' }, []],
  [{ speed: 'fast' }, ['fast-mode-2026-02-01']],
])('%j needs %j', (request, betas) => {
  expect(betasOf({ ...request }, everything)).toEqual(betas);
});

it('names each beta once, and none for removed members', () => {
  const tools = [...tool('memory_20250818').tools, ...tool('computer_20251124').tools];
  const request = {
    tools,
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    speed: 'fast',
  };
  expect(betasOf(request, (member) => member !== 'speed')).toEqual([
    'context-management-2025-06-27',
    'computer-use-2025-11-24',
  ]);
});
