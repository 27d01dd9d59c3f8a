import type { Finding } from '../../../core/examination.ts';

type About = Finding['about'];

export const ok = (about: About, told: string): Finding => ({ about, verdict: 'ok', told });

export const ours = (about: About, told: string): Finding => ({ about, verdict: 'ours', told });

export const fault = (about: About, more: Pick<Finding, 'told' | 'advice' | 'key'>): Finding => ({
  about,
  verdict: 'fault',
  ...more,
});
