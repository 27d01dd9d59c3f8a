import type { Finding } from '../../../core/examination.ts';

type About = Finding['about'];

export const ok = (about: About, summary: string): Finding => ({ about, verdict: 'ok', summary });

export const ours = (about: About, summary: string): Finding => ({ about, verdict: 'ours', summary });

export const fault = (about: About, more: Pick<Finding, 'summary' | 'advice' | 'key'>): Finding => ({
  about,
  verdict: 'fault',
  ...more,
});

export const checkAddress = 'Check the address.';
export const checkLog = 'Check its log.';

/** Message of an error without its full stop. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
