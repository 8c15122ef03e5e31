import django.db.models.deletion
import django.db.models.functions.text
from django.db import InternalError, OperationalError, ProgrammingError, migrations, models, transaction

# Indexes on what is inside of names, where the database has pg_trgm and the role may create it.
# Not in the models: where they cannot be, search does without them.
INDEXES = {
    "lasting_within_code": "code gin_trgm_ops",
    "lasting_within_name": "upper(name::text) gin_trgm_ops",
}


def create_indexes(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_available_extensions WHERE name = 'pg_trgm'")
        if cursor.fetchone() is None:
            return
        try:
            with transaction.atomic(using=connection.alias):
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except (InternalError, OperationalError, ProgrammingError):
            return  # the role may not
        for name, column in INDEXES.items():
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {name} ON symbols_instrument USING gin ({column})"
                " WITH (fastupdate = off)"
                " WHERE expiry IS NULL"
            )


class Migration(migrations.Migration):

    replaces = [
        ('symbols', '0001_initial'),
        ('symbols', '0002_masters'),
        ('symbols', '0003_trigrams'),
        ('symbols', '0004_contracts_by_underlying'),
        ('symbols', '0005_masters_by_type'),
        ('symbols', '0006_help_texts'),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='Instrument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(db_collation='C', help_text='EXCHANGE:SYMBOL', max_length=50)),
                ('exchange', models.CharField(choices=[('NSE', 'NSE'), ('BSE', 'BSE'), ('MCX', 'MCX'), ('NCDEX', 'NCDEX')], max_length=5)),
                ('segment', models.CharField(choices=[('cash', 'Cash'), ('derivatives', 'Derivatives'), ('commodity', 'Commodity'), ('currency', 'Currency')], max_length=11)),
                ('code', models.CharField(db_collation='C', help_text='The part after the colon', max_length=50)),
                ('exchange_name', models.CharField(db_collation='C', help_text="The exchange's own spelling, such as M&M where the code is MM", max_length=64)),
                ('name', models.CharField(db_collation='C', max_length=200)),
                ('type', models.CharField(choices=[('equity', 'Equity'), ('index', 'Index'), ('futures', 'Futures'), ('options', 'Options'), ('commodity', 'Commodity')], max_length=9)),
                ('underlying', models.CharField(blank=True, help_text='Code of the underlying of a derivative', max_length=50)),
                ('expiry', models.DateField(blank=True, null=True)),
                ('strike', models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ('option_type', models.CharField(blank=True, choices=[('CE', 'Call'), ('PE', 'Put')], max_length=2)),
                ('lot_size', models.PositiveIntegerField(help_text='Units of one lot, as the exchange counts them: 65 of NIFTY, 1 (kilogram) of GOLD')),
                ('tick_size', models.DecimalField(blank=True, decimal_places=4, help_text='Rupees; empty if unknown', max_digits=10, null=True)),
                ('isin', models.CharField(blank=True, max_length=12)),
                ('enabled', models.BooleanField(default=True, help_text='Whether it can be traded; operators switch it off')),
                ('sample', models.BooleanField(default=False, help_text='Whether it is from the bundled sample, not from a master')),
                ('valid_from', models.DateField(blank=True, null=True)),
                ('valid_to', models.DateField(blank=True, null=True)),
                ('source', models.CharField(max_length=200)),
                ('freeze_quantity', models.PositiveBigIntegerField(blank=True, help_text='More units than this in one order are refused by the exchange; empty if unknown', null=True)),
                ('multiplier', models.DecimalField(blank=True, decimal_places=4, help_text='Rupees one lot gains per rupee of price: 65 of NIFTY, 100 of GOLD', max_digits=12, null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('type__in', ['equity', 'index'])), fields=['code', 'exchange'], name='cash_by_code'), models.Index(django.db.models.functions.text.Upper('name'), condition=models.Q(('type__in', ['equity', 'index'])), name='cash_by_name'), models.Index(django.db.models.functions.text.Upper('exchange_name'), condition=models.Q(('type__in', ['equity', 'index'])), name='cash_by_exchange_name'), models.Index(condition=models.Q(('type__in', ['equity', 'index'])), fields=['isin'], name='cash_by_isin'), models.Index(condition=models.Q(('type__in', ['equity', 'index']), _negated=True), fields=['code', 'exchange'], name='derivatives_by_code'), models.Index(condition=models.Q(('type__in', ['equity', 'index']), _negated=True), fields=['underlying', 'expiry', 'code'], name='contracts_by_underlying'), models.Index(condition=models.Q(('sample', False)), fields=['exchange', 'type'], name='masters_by_exchange_and_type')],
                'constraints': [models.UniqueConstraint(fields=('symbol',), name='one_instrument_per_symbol'), models.CheckConstraint(condition=models.Q(('symbol', django.db.models.functions.text.Concat('exchange', models.Value(':'), 'code'))), name='symbol_is_exchange_and_code'), models.CheckConstraint(condition=models.Q(models.Q(('option_type__in', ['CE', 'PE']), ('strike__isnull', False), ('type', 'options')), models.Q(models.Q(('type', 'options'), _negated=True), ('option_type', ''), ('strike__isnull', True)), _connector='OR'), name='options_alone_have_a_strike'), models.CheckConstraint(condition=models.Q(models.Q(('expiry__isnull', False), ('type__in', ['futures', 'options'])), models.Q(('expiry__isnull', True), ('type__in', ['equity', 'index', 'commodity'])), _connector='OR'), name='contracts_alone_expire')],
            },
        ),
        migrations.CreateModel(
            name='InstrumentAlias',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(choices=[('kite', 'Kite (Zerodha)'), ('upstox', 'Upstox'), ('angel', 'Angel One'), ('dhan', 'Dhan'), ('fyers', 'Fyers'), ('alice', 'Alice Blue'), ('shoonya', 'Shoonya'), ('5paisa', '5paisa'), ('nse', 'NSE'), ('bse', 'BSE')], max_length=7)),
                ('name', models.CharField(db_collation='C', help_text='Name of the instrument in that source', max_length=64)),
                ('token', models.CharField(blank=True, help_text="Identifier of the instrument in the source's API", max_length=64)),
                ('instrument', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='symbols.instrument')),
            ],
            options={
                'verbose_name_plural': 'instrument aliases',
                'indexes': [models.Index(fields=['name'], name='aliases_by_name')],
                'constraints': [models.UniqueConstraint(fields=('instrument', 'source'), name='one_alias_per_source')],
            },
        ),
        migrations.CreateModel(
            name='InstrumentTerms',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('valid_from', models.DateField(help_text='Day of the first master with these terms')),
                ('lot_size', models.PositiveIntegerField(help_text='Units of one lot, as the exchange counts them: 65 of NIFTY, 1 (kilogram) of GOLD')),
                ('tick_size', models.DecimalField(blank=True, decimal_places=4, max_digits=10, null=True)),
                ('multiplier', models.DecimalField(blank=True, decimal_places=4, help_text='Rupees one lot gains per rupee of price: 65 of NIFTY, 100 of GOLD', max_digits=12, null=True)),
                ('freeze_quantity', models.PositiveBigIntegerField(blank=True, help_text='More units than this in one order are refused by the exchange; empty if unknown', null=True)),
                ('source', models.CharField(max_length=200)),
                ('instrument', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='terms', to='symbols.instrument')),
            ],
            options={
                'verbose_name_plural': 'instrument terms',
                'constraints': [models.UniqueConstraint(fields=('instrument', 'valid_from'), name='one_set_of_terms_per_day')],
            },
        ),
        migrations.CreateModel(
            name='MasterLoad',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(choices=[('kite', 'Kite (Zerodha)'), ('upstox', 'Upstox'), ('angel', 'Angel One'), ('dhan', 'Dhan'), ('fyers', 'Fyers'), ('alice', 'Alice Blue'), ('shoonya', 'Shoonya'), ('5paisa', '5paisa'), ('nse', 'NSE'), ('bse', 'BSE')], max_length=7)),
                ('exchange', models.CharField(choices=[('NSE', 'NSE'), ('BSE', 'BSE'), ('MCX', 'MCX'), ('NCDEX', 'NCDEX')], max_length=5)),
                ('segment', models.CharField(choices=[('cash', 'Cash'), ('derivatives', 'Derivatives'), ('commodity', 'Commodity'), ('currency', 'Currency')], max_length=11)),
                ('as_of', models.DateField(help_text='Day that the master describes')),
                ('instruments', models.PositiveIntegerField()),
                ('file', models.CharField(max_length=200)),
                ('loaded_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('exchange', 'segment', 'source', 'as_of'), name='one_load_per_day')],
            },
        ),
        migrations.RunPython(create_indexes),
    ]
