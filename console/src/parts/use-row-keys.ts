import { type KeyboardEvent, type RefObject, useState } from 'react';

interface RowKeysOptions {
  count: number;
  /** Opens a row; absent where rows do not open. */
  open: ((index: number) => void) | undefined;
  /** Selects a row, or no longer; absent where rows cannot be selected. */
  toggle?: ((index: number) => void) | undefined;
  scrollTo: (index: number) => void;
}

/** Keyboard of the rows of a table: one row can have the focus; arrows or j and k move it, Home and End too, Enter opens it, x selects it. */
export function useRowKeys(
  box: RefObject<HTMLElement | null>,
  { count, open, toggle, scrollTo }: RowKeysOptions,
) {
  const [active, setActive] = useState(0);
  const current = Math.min(active, Math.max(0, count - 1));

  function focus(index: number): void {
    setActive(index);
    scrollTo(index);
    // After the row is rendered, which may have been out of view.
    requestAnimationFrame(() => {
      box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"]`)?.focus();
    });
  }

  return {
    setActive,
    rowProps: (index: number) =>
      open ? { tabIndex: index === current ? 0 : -1, onFocus: () => setActive(index) } : {},
    /** True for the row that the Tab key reaches. */
    isCurrent: (index: number) => index === current,
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      if (!open || event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      if (target.tagName !== 'TR') return;
      const to = targetRow(event.key, current, count);
      if (to !== undefined) focus(to);
      else if (event.key === 'Enter') open(current);
      else if (event.key === 'x' && toggle) toggle(current);
      else return;
      event.preventDefault();
    },
  };
}

/** Row to which a key moves the focus. */
export function targetRow(key: string, current: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === 'ArrowDown' || key === 'j') return Math.min(current + 1, count - 1);
  if (key === 'ArrowUp' || key === 'k') return Math.max(current - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return undefined;
}
