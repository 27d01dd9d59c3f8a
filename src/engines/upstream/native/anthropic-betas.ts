import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { NativeRequest } from '../../engines.ts';

/** Betas that request members need. Others change prices or contents, so only the operator can permit them (`pass_through`). */

/** Betas by the type of a tool. Later versions of most types need none. */
const ofTools: readonly (readonly [type: RegExp, beta: string])[] = [
  [/^(?:computer|bash|text_editor)_20241022$/, 'computer-use-2024-10-22'],
  [/^computer_20250124$/, 'computer-use-2025-01-24'],
  [/^computer_20251124$/, 'computer-use-2025-11-24'],
  [/^memory_20250818$/, 'context-management-2025-06-27'],
  [/^code_execution_20250522$/, 'code-execution-2025-05-22'],
  [/^code_execution_20250825$/, 'code-execution-2025-08-25'],
  [/^web_fetch_20250910$/, 'web-fetch-2025-09-10'],
  [/^tool_search_tool_/, 'advanced-tool-use-2025-11-20'],
  [/^advisor_20260301$/, 'advisor-tool-2026-03-01'],
  [/^mcp_toolset$/, 'mcp-client-2025-11-20'],
];

/** Members that need a beta in a tool of any type. */
const toolMembers = ['defer_loading', 'allowed_callers', 'input_examples'];

/** Betas by request member. Members that are not forwarded need none. */
const ofMembers: Readonly<Record<string, (value: unknown, request: NativeRequest) => string[]>> = {
  tools: (value) => listed(value).flatMap(ofTool),
  context_management: (value) =>
    listed(fieldsOf(value)['edits']).map(({ type }) =>
      type === 'compact_20260112' ? 'compact-2026-01-12' : 'context-management-2025-06-27',
    ),
  output_format: () => ['structured-outputs-2025-11-13'],
  mcp_servers: (_, { tools }) =>
    listed(tools).some(({ type }) => type === 'mcp_toolset') ? [] : ['mcp-client-2025-04-04'],
  container: (value) =>
    fieldsOf(value)['skills'] === undefined ? [] : ['skills-2025-10-02', 'code-execution-2025-08-25'],
  speed: (value) => (value === 'fast' ? ['fast-mode-2026-02-01'] : []),
};

export function betasOf(request: NativeRequest, isForwarded: (member: string) => boolean): string[] {
  const betas = Object.entries(ofMembers).flatMap(([name, read]) => {
    const value = request[name];
    return (value ?? null) !== null && isForwarded(name) ? read(value, request) : [];
  });
  return [...new Set(betas)];
}

function ofTool(tool: Fields): string[] {
  const type = typeof tool['type'] === 'string' ? tool['type'] : '';
  const own = ofTools.filter(([pattern]) => pattern.test(type)).map(([, beta]) => beta);
  const isAdvanced = toolMembers.some((name) => (tool[name] ?? false) !== false);
  return isAdvanced ? [...own, 'advanced-tool-use-2025-11-20'] : own;
}

const listed = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
