import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Agent } from '../../src/agent/agent.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

const shared = '/dev/shm';

async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test.skipIf(!existsSync(shared))('the file system of the root directory is the node’s', async () => {
  const rootDir = mkdtempSync(join(shared, 'pt-usage-'));
  const port = await unusedPort();
  const agent = await Agent.create({
    nodeName: 'n',
    rootDir,
    makeProvider: () => new MemoryProvider({ clock }),
    readOnly: { address: '127.0.0.1', port },
  });
  const running = agent.run(new AbortController().signal);
  try {
    const answer = await vi.waitFor(() => fetch(`http://127.0.0.1:${String(port)}/stats/summary`));
    const { node } = (await answer.json()) as {
      readonly node: { readonly fs: { readonly capacityBytes: number } };
    };
    const { blocks, bsize } = await statfs(shared);
    expect(node.fs.capacityBytes).toBe(blocks * bsize);
  } finally {
    await agent.stop();
    await running;
    rmSync(rootDir, { recursive: true });
  }
});
