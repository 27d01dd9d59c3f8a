# Writes the tables of this folder, with pyarrow 26 and DuckDB: every type that they have, with nulls and nested values.
import datetime as dt, decimal
import duckdb, numpy as np, pyarrow as pa, pyarrow.parquet as pq
D=decimal.Decimal
n=5
t=pa.table({
 'i64':pa.array([1,2**60+1,None,-5,7],pa.int64()),
 'u64':pa.array([1,2**64-1,None,5,7],pa.uint64()),
 'u32':pa.array([1,2**32-1,None,5,7],pa.uint32()),
 'i8':pa.array([1,-8,None,5,7],pa.int8()),
 'f':pa.array([1.5,float('nan'),None,-0.0,1e300]),
 'f16':pa.array(np.array([1.5,2,3,4,5],dtype='float16')),
 'b':pa.array([True,False,None,True,True]),
 's':pa.array(['ü 日本 🎉','a\nb',None,'','"q"']),
 'ls':pa.array(['x','y','z',None,'w'],pa.large_string()),
 'cat':pa.array(['x','y','x',None,'x']).dictionary_encode(),
 'bin':pa.array([b'\x00\xff',b'',None,b'a',b'b']),
 'd':pa.array([dt.date(2026,11,28),dt.date(1960,1,1),None,dt.date(2000,2,29),dt.date(1,1,1)]),
 'tms':pa.array([0,1234567890123,None,-1,5],pa.timestamp('ms')),
 'tus':pa.array([0,1234567890123456,None,-1,5],pa.timestamp('us',tz='UTC')),
 'tns':pa.array([0,1234567890123456789,None,-1,5],pa.timestamp('ns',tz='Europe/Berlin')),
 'time':pa.array([0,1,None,86399999999,5],pa.time64('us')),
 'dur':pa.array([0,1,None,86399999999,5],pa.duration('us')),
 'dec':pa.array([D('12.30'),D('-0.01'),None,D('9999999.99'),D('0')],pa.decimal128(9,2)),
 'dec38':pa.array([D('12345678901234567890123456.123456789012'),D('-0.000000000001'),None,D('1'),D('0')],pa.decimal128(38,12)),
 'fix':pa.array([b'abcd',b'\0\0\0\0',None,b'efgh',b'ijkl'],pa.binary(4)),
 'list':pa.array([[1,2],[],None,[None,3],[4]],pa.list_(pa.int64())),
 'lls':pa.array([[['a'],[]],[],None,[None,['b',None]],[['c']]],pa.list_(pa.list_(pa.string()))),
 'st':pa.array([{'a':1,'b':'x'},{'a':None,'b':'y'},None,{'a':3,'b':None},{'a':4,'b':'z'}],pa.struct([('a',pa.int64()),('b',pa.string())])),
 'lst':pa.array([[{'a':1,'d':D('1.5')}],[],None,[None],[{'a':2,'d':None}]],pa.list_(pa.struct([('a',pa.int32()),('d',pa.decimal128(5,2))]))),
 'map':pa.array([[('k',1)],[],None,[('a',None),('b',2)],[('c',3)]],pa.map_(pa.string(),pa.int64())),
 'imap':pa.array([[(1,'x')],[],None,[(2,None)],[(3,'y')]],pa.map_(pa.int64(),pa.string())),
 'null':pa.nulls(n),
})
pq.write_table(t,'arrow-snappy.parquet')
pq.write_table(t,'arrow-zstd-v2.parquet',compression='zstd',data_page_version='2.0')
pq.write_table(t,'arrow-lz4.parquet',compression='lz4')
pq.write_table(t.select(['i64','tus','s']),'arrow-int96.parquet',use_deprecated_int96_timestamps=True)
con=duckdb.connect()
con.execute("""copy (select i::bigint as id, 'review ' || i as review, i::hugeint as h, (i/3.0)::decimal(18,3) as price, uuid() as u, date '2026-01-01'+i::int as d, timestamp '2026-01-01 00:00:00'+ interval (i) second as ts, timestamptz '2026-01-01 00:00:00+00' as tz, [i,i+1] as l, {'a':i,'b':'x'} as s, map {'k':i} as m, interval 3 day as iv, time '12:00:01' as t, 'a'::enum('a','b') as e, '{"x":1}'::json as j, bitstring '101' as bs, i::utinyint as ut from range(10) r(i)) to 'duckdb.parquet' (format parquet, compression zstd)""")
