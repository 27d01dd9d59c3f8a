import { useEffect, useState } from 'react';
import { Button } from './button.tsx';

interface CopyButtonProps {
  text: string;
  /** The thing for screen readers, such as `the command`. */
  what: string;
  label?: string;
}

/** Button that copies a text. */
export function CopyButton({ text, what, label = 'Copy' }: CopyButtonProps) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state === 'ready') return undefined;
    const timer = setTimeout(() => setState('ready'), 1_500);
    return () => clearTimeout(timer);
  }, [state]);
  const word = { ready: label, copied: 'Copied', failed: 'Press Ctrl+C' }[state];
  return (
    <Button
      kind="quiet"
      aria-label={state === 'ready' && label === 'Copy' ? `Copy ${what}` : undefined}
      onClick={() => void copy(text).then((ok) => setState(ok ? 'copied' : 'failed'))}
    >
      <span aria-live="polite">{word}</span>
    </Button>
  );
}

/** `navigator.clipboard` is missing on plain HTTP, where a selection is copied instead. */
async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false;
    }
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  const holder = document.querySelector('dialog[open]') ?? document.body;
  const focused = document.activeElement;
  holder.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
