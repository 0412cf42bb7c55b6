import { expect, it } from 'vitest';
import { z } from 'zod';
import { answered, cloudIdeService } from './service-definition.ts';

/** Messages from which clients were generated before this server existed. None may change; new ones may be added. */
const MESSAGES = {
  ResourceLimit: { cpu: [1, 'STRING'], Memory: [2, 'STRING'], Storage: [3, 'STRING'] },
  PodInfo: {
    name: [1, 'STRING'],
    namespace: [2, 'STRING'],
    image: [3, 'STRING'],
    port: [4, 'UINT32'],
    resourceLimit: [5, 'MESSAGE', 'ResourceLimit'],
  },
  Response: { status: [1, 'INT32'], message: [2, 'STRING'] },
  QueryOption: { name: [1, 'STRING'], namespace: [2, 'STRING'] },
  PodStatus: { status: [1, 'INT32'], message: [2, 'STRING'] },
  PodSpaceInfo: { nodeName: [1, 'STRING'], ip: [2, 'STRING'], port: [3, 'INT32'] },
} as const;
const METHODS = {
  createSpaceAndWaitForRunning: ['PodInfo', 'PodSpaceInfo'],
  deleteSpace: ['QueryOption', 'Response'],
  getPodSpaceStatus: ['QueryOption', 'PodStatus'],
  getPodSpaceInfo: ['QueryOption', 'PodSpaceInfo'],
} as const;

const described = z.object({
  type: z.object({
    name: z.string(),
    field: z.array(
      z.object({
        name: z.string(),
        number: z.int(),
        type: z.string().transform((type) => type.replace('TYPE_', '')),
        label: z.literal('LABEL_OPTIONAL'),
        typeName: z.string().optional(),
      }),
    ),
  }),
});

it.each(Object.entries(MESSAGES))('message %s keeps its fields, numbers and types', (name, fields) => {
  const { type } = described.parse(answered[`pb.${name}`]);
  const found = type.field.map((one) => {
    const of = one.typeName ? [one.typeName.split('.').at(-1)] : [];
    return [one.name, [one.number, one.type, ...of]];
  });
  expect(Object.fromEntries(found)).toEqual(fields);
});

it.each(Object.entries(METHODS))(
  'method %s keeps its types of request and answer, without streams',
  (name, [takes, answers]) => {
    const method = cloudIdeService()[name];
    expect(method).toMatchObject({
      path: `/pb.CloudIdeService/${name}`,
      requestStream: false,
      responseStream: false,
    });
    const named = z.object({ type: z.object({ name: z.string() }) });
    const types = z.object({ requestType: named, responseType: named }).parse(method);
    expect([types.requestType.type.name, types.responseType.type.name]).toEqual([takes, answers]);
  },
);

it('a message keeps its bytes', () => {
  const { requestSerialize, responseDeserialize } = cloudIdeService()['createSpaceAndWaitForRunning'] ?? {};
  const info = { name: 'a', namespace: 'b', image: 'c', port: 300 };
  const limit = { cpu: '1', Memory: '2Gi', Storage: '3Gi' };
  expect(requestSerialize?.({ ...info, resourceLimit: limit }).toString('hex')).toBe(
    // Tag, length, text, three times; tag, 300 as a varint; tag, length, and the three limits.
    ['0a0161', '120162', '1a0163', '20ac02', '2a0d', '0a0131', '1203324769', '1a03334769'].join(''),
  );
  const answer = Buffer.from(['0a016e', '120169', '18ac02'].join(''), 'hex');
  expect(responseDeserialize?.(answer)).toEqual({ nodeName: 'n', ip: 'i', port: 300 });
});
