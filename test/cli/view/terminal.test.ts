import { expect, test } from 'vitest';
import { LiveScreen } from '../../../src/cli/view/terminal.ts';

function scene(): { readonly screen: LiveScreen; readonly written: () => string } {
  let text = '';
  const screen = new LiveScreen({ write: (more) => (text += more) });
  return {
    screen,
    written: () => {
      const all = text;
      text = '';
      return all;
    },
  };
}

test('shows lines in the second buffer, and nothing again that is there', () => {
  const { screen, written } = scene();
  screen.show(['a', 'b']);
  expect(written()).toBe('\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[Ha\u001b[K\r\nb\u001b[K\u001b[0J');
  screen.show(['a', 'b']);
  expect(written()).toBe('');
  screen.show(['c']);
  expect(written()).toBe('\u001b[Hc\u001b[K\u001b[0J');
});

test('after something else may have been written, all is written again', () => {
  const { screen, written } = scene();
  screen.forget();
  screen.show(['a']);
  written();
  screen.forget();
  screen.show(['a']);
  expect(written()).toBe('\u001b[Ha\u001b[K\u001b[0J');
});

test('leaves the terminal as it was, once', () => {
  const { screen, written } = scene();
  screen.leave();
  expect(written()).toBe('');
  screen.show(['a']);
  screen.leave();
  expect(written()).toContain('\u001b[?7h\u001b[?25h\u001b[?1049l');
  screen.leave();
  expect(written()).toBe('');
});
