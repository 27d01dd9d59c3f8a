import { lazy, Suspense, useEffect, useState } from 'react';
import { isTypingInto, shortcutOf } from './shortcuts.ts';

// Loaded when first opened.
const Palette = lazy(async () => ({ default: (await import('./palette/palette.tsx')).Palette }));
const Help = lazy(async () => ({ default: (await import('./palette/help.tsx')).Help }));

type Overlay = 'palette' | 'help';

interface OverlaysProps {
  open: Overlay | undefined;
  onOpen: (overlay: Overlay | undefined) => void;
}

/** Command palette and help, and the keys that open them. */
export function Overlays({ open, onOpen }: OverlaysProps) {
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
      const shortcut = shortcutOf(event, isTypingInto(event.target));
      if (shortcut === undefined || (shortcut === 'rows' && !focusFirstRow())) return;
      event.preventDefault();
      if (shortcut === 'pause') document.querySelector<HTMLElement>('main [data-pause]')?.click();
      if (shortcut === 'rows' || shortcut === 'pause' || (shortcut === 'search' && focusSearch())) return;
      onOpen(shortcut === 'search' ? 'palette' : shortcut);
    }
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [onOpen]);
  if (open === undefined) return null;
  const Shown = open === 'palette' ? Palette : Help;
  return (
    <Suspense fallback={null}>
      <Shown onClose={() => onOpen(undefined)} onHelp={() => onOpen('help')} />
    </Suspense>
  );
}

/** State of `Overlays`. */
export function useOverlays() {
  return useState<Overlay>();
}

/** Focuses the search of the screen, if it has one. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  field?.focus();
  field?.select();
  return field !== null;
}

/** Focuses the row of the first table whose rows open; the table takes the keys from there on. */
function focusFirstRow(): boolean {
  const row = document.querySelector<HTMLElement>('main tr[tabindex="0"]');
  row?.focus();
  return row !== null;
}
