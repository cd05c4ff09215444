import { Subject } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { PodConfig, SourcesReady } from '../../src/config/pod-config.ts';
import type { PodUpdate, SourceSnapshot } from '../../src/config/pod-update.ts';
import type { Pod } from '../../src/kube/types.ts';

const pod = (name: string): Pod => ({ metadata: { name, namespace: 'ns', uid: name } });

function setUp(): {
  config: PodConfig;
  events: string[];
  errors: unknown[];
  api: Subject<SourceSnapshot>;
  file: Subject<SourceSnapshot>;
} {
  const events: string[] = [];
  const errors: unknown[] = [];
  const config = new PodConfig({
    clock: new FakeClock(),
    recorder: { event: (_pod, type, reason) => events.push(`${type} ${reason}`) },
    logger: { ...silentLogger, error: (_message, fields) => errors.push(fields) },
  });
  return { config, events, errors, api: new Subject(), file: new Subject() };
}

describe('PodConfig', () => {
  test('updates before the first subscription are buffered for the first subscriber', () => {
    const { config, api } = setUp();
    config.addSource('api', api);
    api.next({ source: 'api', pods: [pod('a')] });
    const seen: PodUpdate[] = [];
    config.updates.subscribe((update) => seen.push(update));
    api.next({ source: 'api', pods: [] });
    expect(seen.map(({ op }) => op)).toEqual(['ADD', 'REMOVE']);
  });

  test('a source has one stream (R2)', () => {
    const { config, api } = setUp();
    config.addSource('api', api);
    expect(() => {
      config.addSource('api', api);
    }).toThrow('pod source "api" was added before');
  });

  test('a source that fails is logged and keeps its pods; the others go on', () => {
    const { config, api, file, errors } = setUp();
    const seen: string[] = [];
    config.updates.subscribe(({ op, source }) => seen.push(`${op} ${source}`));
    config.addSource('api', api);
    config.addSource('file', file);
    file.next({ source: 'file', pods: [pod('a')] });
    file.error(new Error('broke'));
    api.next({ source: 'api', pods: [] });
    expect(seen).toEqual(['ADD file', 'ADD api']);
    expect(errors).toMatchObject([{ source: 'file' }]);
  });

  test('sources are ready when each delivered and each was handled (R15, R16)', () => {
    const { config, api, file } = setUp();
    const ready = new SourcesReady(config);
    config.addSource('api', api);
    config.addSource('file', file);
    ready.addSource('api');
    ready.addSource('file');
    expect(ready.allReady()).toBe(false);
    api.next({ source: 'api', pods: [] });
    expect(ready.allReady()).toBe(false);
    file.next({ source: 'file', pods: [] });
    expect(ready.allReady()).toBe(true);
  });

  test('a duplicate name is a warning event', () => {
    const { config, api, events } = setUp();
    config.addSource('api', api);
    api.next({ source: 'api', pods: [pod('a'), { metadata: { name: 'a', namespace: 'ns', uid: 'b' } }] });
    expect(events).toEqual(['Warning FailedValidation']);
  });

  test('the same pods in other sources, in any order of delivery, give the same batches', () => {
    const batches = (order: ('api' | 'file')[]): string[] => {
      const { config, api, file } = setUp();
      const seen: string[] = [];
      config.updates.subscribe(({ op, source, pods }) => seen.push(`${op} ${source} ${pods.length}`));
      config.addSource('api', api);
      config.addSource('file', file);
      for (const source of order) (source === 'api' ? api : file).next({ source, pods: [pod('a')] });
      return seen.sort();
    };
    expect(batches(['api', 'file'])).toEqual(batches(['file', 'api']));
  });

  test('stop ends the sources and the updates (R39)', () => {
    const { config, api } = setUp();
    let done = false;
    config.updates.subscribe({
      complete: () => {
        done = true;
      },
    });
    config.addSource('api', api);
    config.stop();
    expect(done).toBe(true);
    expect(api.observed).toBe(false);
  });
});
