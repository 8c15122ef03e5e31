# ruff: noqa: E501
"""Instrument masters of each source: a few rows written by hand, and their instruments."""

from typing import Final

KITE: Final = """\
instrument_token,exchange_token,tradingsymbol,name,last_price,expiry,strike,tick_size,lot_size,instrument_type,segment,exchange
256265,1001,NIFTY 50,NIFTY 50,0,,0,0,0,EQ,INDICES,NSE
519937,2031,M&M,MAHINDRA & MAHINDRA,0,,0,0.1,1,EQ,NSE,NSE
4267265,16669,BAJAJ-AUTO,"BAJAJ AUTO, LIMITED",0,,0,1,1,EQ,NSE,NSE
1001,11,OLDCO-BE,OLD COMPANY,0,,0,0.05,1,EQ,NSE,NSE
1002,12,64GS34-GS,A BOND,0,,0,0.01,100,EQ,NSE,NSE
68407,267,NIFTY26SEPFUT,NIFTY,0,2026-09-29,0,0.1,65,FUT,NFO-FUT,NFO
58072,226,NIFTY2681824350CE,NIFTY,0,2026-08-18,24350,0.05,65,CE,NFO-OPT,NFO
58073,227,NIFTY26AUG24350CE,NIFTY,0,2026-08-25,24350,0.05,65,CE,NFO-OPT,NFO
58074,228,ASHOKLEY26AUG172.5PE,ASHOKLEY,0,2026-08-25,172.5,0.05,5000,PE,NFO-OPT,NFO
58075,229,SENSEX5026OCT26900PE,SENSEX50,0,2026-10-29,26900,0.05,75,PE,BFO-OPT,BFO
58076,230,CRUDEOIL26SEPFUT,,0,2026-09-21,0,1,1,FUT,MCX-FUT,MCX
58077,231,US30,DOW,0,,0,0,0,EQ,INDICES,GLOBAL
"""
UPSTOX: Final = """\
"instrument_key","exchange_token","tradingsymbol","name","last_price","expiry","strike","tick_size","lot_size","instrument_type","option_type","exchange"
"NSE_INDEX|Nifty Bank","26009","BANKNIFTY","Nifty Bank","0","","","","","INDEX","INDEX","NSE_INDEX"
"NSE_EQ|INE121A01024","685","CHOLAFIN","CHOLAMANDALAM","0","","","0.1","1","EQUITY","","NSE_EQ"
"NSE_EQ|INE121A08PJ0","9999","CHOLAFIN","CHOLA NCD","0","","","0.01","1","EQUITY","","NSE_EQ"
"MCX_FO|472683","472683","GOLD26MAR118300CE","GOLD","1","2026-03-24","118300.0","50.0","1","OPTFUT","CE","MCX_FO"
"NSE_COM|5","5","GOLDMINI","GOLDM","0","","0.0","100.0","1","","COM","NSE_COM"
"NCD_FO|7","7","EURINR26213FUT","EURINR","0","2026-02-13","0.0","0.25","1","FUTCUR","FF","NCD_FO"
"""
UPSTOX_JSON: Final = """\
[{"segment":"NSE_FO","trading_symbol":"NIFTY 20400 PE 17 APR 26","name":"NIFTY","exchange":"NSE",
  "instrument_key":"NSE_FO|47983","exchange_token":"47983","instrument_type":"PE",
  "asset_symbol":"NIFTY","expiry":1776450599000,"weekly":true,"strike_price":20400,"lot_size":65,
  "tick_size":5.0,"freeze_quantity":1800.0,"qty_multiplier":1.0},
 {"segment":"MCX_FO","trading_symbol":"ZINC FUT 30 APR 26","name":"ZINC","exchange":"MCX",
  "instrument_key":"MCX_FO|1","exchange_token":"1","instrument_type":"FUT","asset_symbol":"ZINC",
  "expiry":1777573799000,"strike_price":0.0,"lot_size":5,"tick_size":5.0,"freeze_quantity":20.0,
  "qty_multiplier":5000.0},
 {"segment":"NSE_EQ","trading_symbol":"GTPL","name":"GTPL HATHWAY LIMITED","exchange":"NSE",
  "isin":"INE869I01013","instrument_type":"EQ","instrument_key":"NSE_EQ|INE869I01013",
  "exchange_token":"21195","lot_size":1,"tick_size":1.0,"freeze_quantity":100000.0}]
"""
ANGEL: Final = """\
token,symbol,name,expiry,strike,lotsize,instrumenttype,exch_seg,tick_size
99926000,Nifty 50,NIFTY,,0.000000,1,AMXIDX,NSE,0.000000
26000,NIFTY,NIFTY,,-1.000000,-1,,NSE,0.000000
2885,RELIANCE-EQ,RELIANCE,,-1.000000,1,,NSE,10.000000
72222,NIFTYNXT5029MAY2561900PE,NIFTYNXT50,29MAY2025,6190000.000000,25,OPTIDX,NFO,5.000000
41,DHANIYA20MAY25,DHANIYA,20MAY2025,-1.000000,5,FUTCOM,NCDEX,200.000000
42,DHANIYA20MAY25CE11300FMAY25,DHANIYA,20MAY2025,1130000.000000,5,OPTFUT,NCDEX,200.000000
43,USDINR28MAY2585CE,USDINR,28MAY2025,850000000.000000,1,OPTCUR,CDS,25000.000000
"""
DHAN: Final = """\
SEM_EXM_EXCH_ID,SEM_SEGMENT,SEM_SMST_SECURITY_ID,SEM_INSTRUMENT_NAME,SEM_EXPIRY_CODE,SEM_TRADING_SYMBOL,SEM_LOT_UNITS,SEM_CUSTOM_SYMBOL,SEM_EXPIRY_DATE,SEM_STRIKE_PRICE,SEM_OPTION_TYPE,SEM_TICK_SIZE,SEM_EXPIRY_FLAG,SEM_EXCH_INSTRUMENT_TYPE,SEM_SERIES,SM_SYMBOL_NAME
BSE,E,500325,EQUITY,0,RELIANCE,1,Reliance Industries,,,,5,NA,ES,A,
NSE,I,13,INDEX,0,NIFTY,1,Nifty 50,0001-01-01,,XX,,NA,INDEX,X,NIFTY
NSE,D,35084,OPTIDX,0,BAJAJ-AUTO-Sep2026-9150-CE,75,BAJAJ-AUTO 29 SEP 9150 CALL,2026-09-29 14:30:00,9150.0,CE,5,M,OP,XX,BAUTOOPT
MCX,M,565899,FUTCOM,0,CRUDEOIL-21Sep2026-FUT,1,CRUDEOIL SEP FUT,2026-09-21 23:30:00,-0.01,XX,100,M,FUTCOM,XX,
MCX,M,565900,FUTCOM,0,GOLDM-Oct2026-FUT,1,GOLDM OCT FUT,2026-10-05 23:30:00,-0.01,XX,100,M,FUTCOM,XX,
"""
DHAN_DETAILED: Final = """\
EXCH_ID,SEGMENT,SECURITY_ID,ISIN,INSTRUMENT,UNDERLYING_SYMBOL,SYMBOL_NAME,DISPLAY_NAME,INSTRUMENT_TYPE,SERIES,LOT_SIZE,SM_EXPIRY_DATE,STRIKE_PRICE,OPTION_TYPE,TICK_SIZE,EXPIRY_FLAG,SM_FREEZE_QTY,
NSE,E,2885,INE002A01018,EQUITY,RELIANCE,RELIANCE INDUSTRIES LTD,Reliance Industries,ES,EQ,1.0,,,,10.0000,NA,,
NSE,D,35084,NA,OPTIDX,NIFTY,NIFTY-Sep2026-29150-CE,NIFTY 29 SEP 29150 CALL,OP,NA,65.0,2026-09-29,29150.00000,CE,5.0000,M,1756,
NSE,E,77,INE002A07018,EQUITY,RELIANCE,RELIANCE NCD,Reliance NCD,DEB,N1,1.0,,,,1.0000,NA,,
"""
FYERS: Final = """\
101000000026000,NIFTY50-INDEX,10,0,0.05,,0915-1530|1815-1915:,2025-11-10,,NSE:NIFTY50-INDEX,10,10,26000,NIFTY,26000,-1.0,XX,101000000026000,None,0,0.0
10100000001,GOLDSTAR POWER LIMITED,0,11250,0.05,INE405Y01021,0915-1530|1815-1915:,2025-11-10,,NSE:GOLDSTAR-SM,10,10,1,GOLDSTAR,1,-1.0,XX,10100000001,None,0,0.0
12112511131101649,SENSEX 25 Nov 13 74700 CE,14,20,0.05,,0915-1530|1815-1915:,2025-11-09,1763028000,BSE:SENSEX25N1374700CE,12,11,1101649,SENSEX,1,74700.0,CE,12100000001,None,0,0.0
"""
ALICE: Final = """\
Exch,Exchange Segment,Symbol,Token,Instrument Type,Option Type,Strike Price,Instrument Name,Trading Symbol,Formatted Ins Name,Expiry Date,Lot Size,Tick Size,freeze_qty,Board Lot Qty
MCX,mcx_fo,GOLDM,457534,FUTCOM,,0,GOLDM,GOLDM05MAY26,GOLDM MAY FUT,2026-05-05,1,1.0,0.0,100
MCX,mcx_idx,MCXAGRI,500201,INDEX,,,,,MCXAGRI,,1,0,,
NFO,nse_fo,NIFTY,35004,FUTIDX,XX,-1,NIFTY,NIFTY28MAY26F,NIFTY MAY FUT,2026-05-28,65,0.05,1800,
"""
SHOONYA: Final = """\
Exchange,Token,LotSize,GNGD,Symbol,TradingSymbol,Expiry,Instrument,OptionType,StrikePrice,TickSize,
NCX,GUARSEED1020OCT2026,5,10,GUARSEED10,GUARSEED1020OCT2026,20-OCT-2026,FUTCOM,XX,-0.01,1,
MCX,439017,250,1,NATGASMINI,NATGASMINI21OCT26P315,21-OCT-2026,OPTFUT,PE,315,0.05,
"""
FIVEPAISA: Final = """\
Exch,ExchType,Name,Expiry,ScripType,StrikeRate,LotSize,QtyLimit,ScripCode
N,D,NIFTY 26 JUN 2025 CE 18250.00,2025-06-26,CE,18250,75,1800,35004
B,D,SENSEX 24 JUN 2025,2025-06-24,XX,0,20,500,1100924
"""
NSE: Final = """\
SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE
M&M,Mahindra & Mahindra Limited,EQ,03-JAN-1996,5,1,INE101A01026,5
360ONE,360 ONE WAM LIMITED,BE,19-OCT-2019,1,1,INE466L01038,1
"""
BSE: Final = """\
Security Code,Issuer Name,Security Id,Security Name,Status,Group,Face Value,ISIN No,Instrument
500885,Amara Raja Energy,ARE&M,Amara Raja,Active,A ,1.00,INE885A01032,Equity,,,,,
500886,Gone Limited,GONE,Gone,Delisted,B ,1.00,INE885A01040,Equity,,,,,
500887,Shifted Limited,SHIFT,Shifted,Active,A ,1.00,INE885A01057,Equity,x,,,,
"""

# Symbol, units of a lot, multiplier, tick, freeze quantity; "-" is unknown.
EXPECTED: Final[dict[str, tuple[str, list[str]]]] = {
    "kite": (
        KITE,
        [
            "NSE:NIFTY - - - -",
            "NSE:MM 1 1 0.1 -",
            "NSE:BAJAJAUTO 1 1 1 -",
            "NSE:OLDCO 1 1 0.05 -",
            "NSE:NIFTY26SEPFUT 65 65 0.1 -",
            "NSE:NIFTY26AUG1824350CE 65 65 0.05 -",
            "NSE:NIFTY26AUG24350CE 65 65 0.05 -",
            "BSE:SENSEX5026OCT26900PE 75 75 0.05 -",
            "MCX:CRUDEOIL26SEPFUT 100 100 1 -",
        ],
    ),
    "upstox": (
        UPSTOX,
        [
            "NSE:BANKNIFTY - - - -",
            "NSE:CHOLAFIN 1 1 0.1 -",
            "MCX:GOLD26MAR118300CE 1 100 0.5 -",
            "NSE:GOLDM - - 1 -",
            "NSE:EURINR26FEB13FUT 1 1000 0.0025 -",
        ],
    ),
    "upstox json": (
        UPSTOX_JSON,
        [
            "NSE:NIFTY26APR1720400PE 65 65 0.05 1800",
            "MCX:ZINC26APRFUT 5 5000 0.05 100",
            "NSE:GTPL 1 1 0.01 100000",
        ],
    ),
    "angel": (
        ANGEL,
        [
            "NSE:NIFTY - - - -",
            "NSE:RELIANCE 1 1 0.1 -",
            "NSE:NIFTYNXT5025MAY61900PE 25 25 0.05 -",
            "NCDEX:DHANIYA25MAYFUT 5 50 2 -",
            "NCDEX:DHANIYA25MAY11300CE 5 50 2 -",
            "NSE:USDINR25MAY85CE 1 1000 0.0025 -",
        ],
    ),
    "dhan": (
        DHAN,
        [
            "BSE:RELIANCE 1 1 0.05 -",
            "NSE:NIFTY - - - -",
            "NSE:BAJAJAUTO26SEP9150CE 75 75 0.05 -",
            "MCX:GOLDM26OCTFUT 100 10 1 -",
        ],
    ),
    "dhan detailed": (
        DHAN_DETAILED,
        ["NSE:RELIANCE 1 1 0.1 -", "NSE:NIFTY26SEP29150CE 65 65 0.05 1755"],
    ),
    "fyers": (
        FYERS,
        [
            "NSE:NIFTY - - - -",
            "NSE:GOLDSTAR 11250 11250 0.05 -",
            "BSE:SENSEX25NOV1374700CE 20 20 0.05 -",
        ],
    ),
    "alice": (
        ALICE,
        [
            "MCX:GOLDM26MAYFUT 100 10 1 -",
            "MCX:MCXAGRI - - - -",
            "NSE:NIFTY26MAYFUT 65 65 0.05 1800",
        ],
    ),
    "shoonya": (
        SHOONYA,
        ["NCDEX:GUARSEED1026OCTFUT 5 50 1 -", "MCX:NATGASMINI26OCT315PE 250 250 0.05 -"],
    ),
    "5paisa": (FIVEPAISA, ["NSE:NIFTY25JUN18250CE 75 75 - 1800", "BSE:SENSEX25JUNFUT 20 20 - 500"]),
    "nse": (NSE, ["NSE:MM 1 1 - -", "NSE:360ONE 1 1 - -"]),
    "bse": (BSE, ["BSE:AREM - - - -"]),
}
