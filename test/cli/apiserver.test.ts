import { expect, test } from 'vitest';
import { apiserver } from '../../src/cli/apiserver.ts';
import type { ApiServerArguments } from '../../src/cli/apiserver-command.ts';

async function run(output: 'text' | 'json', kubeconfig: string) {
  let [written, stopped] = ['', false];
  const code = await apiserver({ output } as ApiServerArguments, {
    start: () =>
      Promise.resolve({
        url: 'https://127.0.0.1:1',
        kubeconfig,
        stop: () => {
          stopped = true;
          return Promise.resolve();
        },
      }),
    write: (text) => (written += text),
    onSignal: (listener) => {
      setImmediate(listener);
      return () => undefined;
    },
  });
  return { code, written, stopped };
}

test('prints the URL once it is ready, and stops with a signal', async () => {
  expect(await run('text', "/tmp/it's")).toEqual({
    code: 0,
    stopped: true,
    written: "API server ready at https://127.0.0.1:1\nexport KUBECONFIG='/tmp/it'\\''s'\n",
  });
  const { written } = await run('json', '/tmp/k');
  expect(
    written
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([{ type: 'ready', server: 'https://127.0.0.1:1', kubeconfig: '/tmp/k' }, { type: 'stopped' }]);
});
