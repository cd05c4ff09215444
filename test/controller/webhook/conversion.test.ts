import { afterEach, describe, expect, test } from 'vitest';
import { defineKind, type KubeObject } from '../../../src/controller/index.ts';
import { conversion, spoke } from '../../../src/controller/webhook/index.ts';
import { endServers, listening } from './support.ts';

afterEach(endServers);

interface Hub extends KubeObject {
  spec: { schedule: string[] };
}
interface Old extends KubeObject {
  spec: { cron: string };
}
interface Older extends KubeObject {
  cron: string;
}
const at = (version: string) => ({ group: 'example.com', version, kind: 'CronTab' });
const family = {
  hub: defineKind<Hub>(at('v2')),
  spokes: [
    spoke<Hub, Old>(defineKind<Old>(at('v1')), {
      convertTo: ({ metadata, spec }) => ({ ...(metadata && { metadata }), spec: { schedule: [spec.cron] } }),
      convertFrom: (hub) => ({ ...hub, spec: { cron: hub.spec.schedule[0] ?? '' } }),
    }),
    spoke<Hub, Older>(defineKind<Older>(at('v1alpha1')), {
      convertTo: async ({ cron }) => ({ spec: { schedule: [cron] } }),
      convertFrom: async ({ spec }) => ({ cron: spec.schedule.join() }),
    }),
  ],
};
const object = (version: string, more: object) => ({
  apiVersion: `example.com/${version}`,
  kind: 'CronTab',
  metadata: { name: 'a', uid: 'u' },
  ...more,
});
const review = (desiredAPIVersion: string, objects: object[], version = 'v1') => ({
  apiVersion: `apiextensions.k8s.io/${version}`,
  kind: 'ConversionReview',
  request: { uid: 'r', desiredAPIVersion, objects },
});

describe('conversion webhook', () => {
  test.for(['v1', 'v1beta1'])(
    '1 all objects of a review of %s are converted, by way of the hub',
    async (version) => {
      const { send } = await listening((server) => {
        server.register('/convert', conversion(family));
      });
      const objects = [
        object('v1', { spec: { cron: '1' } }),
        object('v1alpha1', { cron: '2' }),
        object('v2', { spec: { schedule: ['3', '4'] } }),
      ];
      const { json } = await send('/convert', review('example.com/v1alpha1', objects, version));
      expect(json).toEqual({
        apiVersion: `apiextensions.k8s.io/${version}`,
        kind: 'ConversionReview',
        response: {
          uid: 'r',
          result: { metadata: {}, status: 'Success' },
          convertedObjects: ['1', '2', '3,4'].map((cron) => object('v1alpha1', { cron })),
        },
      });
      const up = await send('/convert', review('example.com/v2', objects.slice(0, 2)));
      expect(up.json.response?.['convertedObjects']).toEqual([
        object('v2', { spec: { schedule: ['1'] } }),
        object('v2', { spec: { schedule: ['2'] } }),
      ]);
    },
  );

  test('2 a version that is not served, or a function that throws, fails the review', async () => {
    const { send, metrics } = await listening((server) => {
      server.register('/convert', conversion(family));
    });
    const failure = async (to: string, one: object) => {
      const { json, status } = await send('/convert', review(to, [one]));
      expect([status, json.response?.['uid'], json.response?.['convertedObjects']]).toEqual([200, 'r', []]);
      return json.response?.['result'];
    };
    expect(await failure('example.com/v3', object('v2', {}))).toMatchObject({
      status: 'Failure',
      message: expect.stringMatching(
        /^no conversion from example.com\/v2, Kind=CronTab to example.com\/v3, Kind=CronTab: .*v1alpha1/,
      ) as string,
    });
    expect(metrics()).toContain('controller_runtime_conversion_webhook_panics_total 0\n');
    expect(await failure('example.com/v1', object('v2', { spec: {} }))).toMatchObject({
      status: 'Failure',
      message: expect.stringMatching(/^panic: .* \[recovered\]$/) as string,
    });
    expect(metrics()).toContain('controller_runtime_conversion_webhook_panics_total 1\n');
  });

  test('3 what is no review is answered with status 400', async () => {
    const { send } = await listening((server) => {
      server.register('/convert', conversion(family));
    });
    for (const body of ['', 'x', '{}', { kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' }])
      expect(await send('/convert', body)).toMatchObject({ status: 400 });
  });

  test('4 versions that are there twice, and spokes of other kinds, are rejected', () => {
    expect(() => conversion(family, family)).toThrow(
      'conversion: example.com/v2, Kind=CronTab is there twice',
    );
    const other = spoke<Hub, Old>(defineKind<Old>({ ...at('v1'), kind: 'Other' }), {
      convertTo: () => ({ spec: { schedule: [] } }),
      convertFrom: () => ({ spec: { cron: '' } }),
    });
    expect(() => conversion({ hub: family.hub, spokes: [other] })).toThrow(
      'conversion: example.com/v1, Kind=Other is no version of CronTab.example.com',
    );
  });
});
